// Constant, Identity, Dropout.
#include <array>

#include "base/error.hpp"
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/axis.hpp"
#include "ops/random.hpp"

namespace treadle::onnx {
namespace {

template <typename T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::from<T>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

std::vector<ValueId> import_constant(NodeContext& c) {
  std::optional<Tensor> value;
  int given = 0;
  const auto take = [&](std::string_view attr, auto&& make) {
    if (!c.has_attr(attr)) return;
    ++given;
    value = make(attr);
  };
  take("value", [&](auto a) { return *c.tensor_attr(a); });
  take("sparse_value", [&](auto a) { return *c.tensor_attr(a); });
  take("value_float",
       [&](auto a) { return Tensor::scalar(static_cast<float>(c.float_attr(a, {}))); });
  take("value_floats", [&](auto a) {
    const auto v = *c.floats_attr(a);
    return vector_of(std::vector<float>(v.begin(), v.end()));
  });
  take("value_int", [&](auto a) { return Tensor::scalar(c.int_attr(a, {})); });
  take("value_ints", [&](auto a) { return vector_of(*c.ints_attr(a)); });
  take("value_string", [&](auto a) { return Tensor::scalar(c.string_attr(a, {})); });
  take("value_strings", [&](auto a) { return vector_of(*c.strings_attr(a)); });
  check(given == 1, ErrorKind::Parse, "exactly one value attribute is required, got {}", given);
  return {c.constant_value(*std::move(value))};
}

std::vector<ValueId> import_identity(NodeContext& c) {
  return {c.in(0)};
}

namespace {

// What of x an inference keeps: everything.
ValueId full_mask(NodeContext& c) {
  const SymShape shape = c.fact(0).shape;
  const Shape ones{std::span<const std::int64_t>(std::vector<std::int64_t>(shape.size(), 1))};
  const ValueId mask = c.constant_value(Tensor::from<bool>(ones, std::array{true}));
  return c.add1(make_op<ops::Expand>(shape), {mask});
}

// Dropout with a training_mode that holds, or that only the run knows: elements are kept where a
// uniform random number is no less than the ratio, and scaled by 1 / (1 − ratio).
std::vector<ValueId> random_dropout(NodeContext& c) {
  Graph& g = c.graph();
  const ValueId x = c.in(0);
  const DType type = c.fact(0).dtype;
  const auto scalar = [&](std::size_t i) { return reshape(c, c.in(i), {}); };
  const ValueId training = cast(c, scalar(2), DType::Bool);
  const ValueId ratio =
      c.has(1) ? cast(c, scalar(1), DType::F32) : c.constant_value(Tensor::scalar(0.5f));
  const ValueId drawn = c.add1(make_op<ops::Random>(ops::RandomFn::Uniform, DType::F32,
                                                    c.fact(0).shape, seed_of(c), 0.0, 1.0),
                               {x});
  const ValueId chosen = binary(c, BinaryFn::GreaterEqual, drawn, ratio);
  const ValueId keep = binary(c, BinaryFn::Or, unary(c, UnaryFn::Not, training), chosen);
  const ValueId one = c.constant_value(Tensor::scalar(1.0f));
  const ValueId rest = binary(c, BinaryFn::Sub, one, ratio);
  const ValueId scale = select(c, training, binary(c, BinaryFn::Div, one, rest), one);
  const ValueId scaled = binary(c, BinaryFn::Mul, x, cast(c, scale, type));
  const ValueId zero = ops::scalar_like(g, c.fresh_name(), 0, x);
  return {select(c, keep, scaled, zero), keep};
}

}  // namespace

// training_mode stands from opset 12 on; before, and without it, the operator is for inference.
std::vector<ValueId> import_dropout(NodeContext& c) {
  if (c.opset() >= 12 && c.has(2)) {
    check(elements(c.fact(2).shape).is(1), ErrorKind::Shape,
          "input 2 'training_mode' is {}, expected one element", c.fact(2).str());
    const auto training = c.constant(2);
    if (!training || training->to_i64()[0] != 0) return random_dropout(c);
  }
  if (!c.wants_output(1)) return {c.in(0)};
  const ValueId mask = full_mask(c);
  return {c.in(0), c.opset() >= 10 ? mask : cast(c, mask, c.fact(0).dtype)};
}

}  // namespace treadle::onnx
