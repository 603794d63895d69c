#include "passes/channel_constant.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "ops/contract.hpp"
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

// Whether numbers of f32 can be stored as 16-bit floats: none too large and, of `Elements`, each
// or, of `Weights`, the largest with all its digits.
bool fit(std::span<const float> values, DType dtype, Of of) {
  const float most = dtype == DType::F16 ? 65504.0f : 3.3895314e38f;
  const float least = dtype == DType::F16 ? 6.103515625e-5f : 1.17549435e-38f;
  float largest = 0;
  for (const float v : values) {
    if (!(std::abs(v) <= most)) return false;
    if (of == Of::Elements && v != 0.0f && std::abs(v) < least) return false;
    largest = std::max(largest, std::abs(v));
  }
  return largest == 0.0f || largest >= least;
}

std::optional<Tensor> in_range(const Operator& op, const std::vector<Tensor>& constants, Of of) {
  const DType dtype = constants[0].dtype();
  if (is_16_bit_float(dtype)) {
    std::vector<Tensor> wide;
    for (const Tensor& c : constants)
      wide.push_back(Tensor::from(c.shape(), std::span<const float>(c.to_f32())));
    if (!fit(evaluate_constant(op, wide).span<float>(), dtype, of)) return std::nullopt;
  }
  return evaluate_constant(op, constants);
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
    case BinaryFn::Div: {
      if (right == nullptr) return std::nullopt;
      auto inverse = reciprocal(values);
      if (!inverse) return std::nullopt;
      return ChannelStep{BinaryFn::Mul, x, std::move(*inverse)};
    }
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

std::optional<Tensor> folded(BinaryFn fn, const Tensor& a, const Tensor& b, Of of) {
  return in_range(Binary(fn), {a, b}, of);
}

std::optional<Tensor> reciprocal(const Tensor& c) {
  return in_range(ops::Unary(ops::UnaryFn::Reciprocal), {c}, Of::Elements);
}

bool keeps_digits(const Graph& g, ValueId x, const Tensor& shift) {
  constexpr double kMost = 16;  // an error of 1e-6 in f32
  const auto* binary = made_by<ops::Binary>(g, x);
  const bool product = (binary != nullptr && binary->fn == ops::BinaryFn::Mul) ||
                       made_by<ops::Conv>(g, x) != nullptr ||
                       made_by<ops::ConvTranspose>(g, x) != nullptr ||
                       made_by<ops::Contract>(g, x) != nullptr;
  if (product) return true;
  for (const double v : shift.to_f64()) {
    if (!(std::fabs(v) <= kMost)) return false;
  }
  return true;
}

bool is_16_bit_float(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16;
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
