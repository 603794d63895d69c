#include "passes/channel_constant.hpp"

#include "ops/move.hpp"

namespace treadle::passes {

using ops::Binary;
using ops::BinaryFn;
using ops::WeightLayout;

namespace {

// The only axis of c that is not 1; −1: none, −2: several.
int wide_axis(const Shape& shape) {
  int found = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[static_cast<std::size_t>(i)] == 1) continue;
    if (found >= 0) return -2;
    found = i;
  }
  return found;
}

Shape flat(std::int64_t n) {
  return Shape({n});
}

}  // namespace

std::optional<ChannelStep> any_channel_step(const Graph& g, ValueId v, int& axis) {
  const auto* op = made_by<Binary>(g, v);
  if (op == nullptr || !is_float(g.fact(v).dtype)) return std::nullopt;
  const ValueId a = input_of(g, v, 0), b = input_of(g, v, 1);
  const Tensor* right = constant(g, b);
  const Tensor* left = right == nullptr ? constant(g, a) : nullptr;
  const Tensor* c = right != nullptr ? right : left;
  const ValueId x = right != nullptr ? a : b;
  if (c == nullptr || constant(g, x) != nullptr || c->elements() == 0) return std::nullopt;
  if (c->dtype() != g.fact(v).dtype || !g.fact(x).same_type(g.fact(v))) return std::nullopt;
  const int wide = wide_axis(c->shape());
  if (wide == -2) return std::nullopt;
  axis = std::max(wide, 0);
  Tensor values = c->reshaped(flat(c->elements()));
  switch (op->fn) {
    case BinaryFn::Add:
    case BinaryFn::Mul:
      return ChannelStep{op->fn, x, values};
    case BinaryFn::Sub:
      if (right == nullptr) return std::nullopt;
      return ChannelStep{BinaryFn::Add, x,
                         evaluate_constant(ops::Unary(ops::UnaryFn::Neg), {values})};
    case BinaryFn::Div:
      if (right == nullptr) return std::nullopt;
      return ChannelStep{BinaryFn::Mul, x,
                         evaluate_constant(ops::Unary(ops::UnaryFn::Reciprocal), {values})};
    default:
      return std::nullopt;
  }
}

std::optional<ChannelStep> channel_step(const Graph& g, ValueId v, int axis) {
  int wide = 0;
  auto step = any_channel_step(g, v, wide);
  if (step && !step->is_scalar() && wide != axis) return std::nullopt;
  return step;
}

Tensor along_axis(const Tensor& c, int rank, int axis) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
  if (c.elements() != 1) shape[static_cast<std::size_t>(axis)] = c.elements();
  return c.reshaped(Shape(std::span<const std::int64_t>(shape)));
}

Tensor widened(const Tensor& c, std::int64_t n) {
  if (c.elements() == n) return c;
  return evaluate_constant(ops::Expand({Dim(n)}), {c});
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  return evaluate_constant(Binary(BinaryFn::Mul), {a, b});
}

Tensor add(const Tensor& a, const Tensor& b) {
  return evaluate_constant(Binary(BinaryFn::Add), {a, b});
}

int output_channel_axis(WeightLayout layout, int rank) {
  switch (layout) {
    case WeightLayout::OIHW:
    case WeightLayout::OHWI:
      return 0;
    case WeightLayout::HWIO:
      return rank - 1;
    case WeightLayout::IOHW:
      return 1;
  }
  return 0;
}

int input_channel_axis(WeightLayout layout, int rank) {
  switch (layout) {
    case WeightLayout::OIHW:
      return 1;
    case WeightLayout::OHWI:
      return rank - 1;
    case WeightLayout::HWIO:
      return rank - 2;
    case WeightLayout::IOHW:
      return 0;
  }
  return 0;
}

}  // namespace treadle::passes
