// Constant, Identity, Dropout.
#include <array>

#include "base/error.hpp"
#include "formats/onnx/importer.hpp"
#include "ops/axis.hpp"
#include "ops/build.hpp"

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

// Inference only: training_mode (opset 12) must be known to be false.
std::vector<ValueId> import_dropout(NodeContext& c) {
  const ValueId x = c.in(0);
  if (c.has(2)) {
    const auto training = c.required_constant(2).to_i64();
    const double ratio = c.has(1) ? c.required_constant(1).to_f64().at(0) : 0.5;
    check(training.size() == 1 && (training[0] == 0 || ratio == 0), ErrorKind::Unsupported,
          "training_mode is not supported");
  }
  if (!c.wants_output(1)) return {x};
  const Fact& f = c.fact(0);
  const bool as_bool = c.opset() >= 10;
  const DType dtype = as_bool ? DType::Bool : f.dtype;
  const SymShape shape = f.shape;
  const Shape ones{std::span<const std::int64_t>(std::vector<std::int64_t>(shape.size(), 1))};
  ValueId mask = c.constant_value(Tensor::from<bool>(ones, std::array{true}));
  mask = ops::cast(c.graph(), c.fresh_name(), mask, dtype);
  return {x, c.add1(make_op<ops::Expand>(shape), {mask})};
}

}  // namespace treadle::onnx
