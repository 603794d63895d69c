// Random generators and window functions.
#include <numbers>

#include "formats/onnx/ops/move_helpers.hpp"
#include "formats/onnx/types.hpp"
#include "ops/random.hpp"
#include "ops/range.hpp"

namespace treadle::onnx {
namespace {

using ops::RandomFn;

std::vector<ValueId> generate(NodeContext& c, bool like) {
  const bool normal = c.proto().op_type.substr(0, 12) == "RandomNormal";
  const double a = normal ? c.float_attr("mean", 0.0) : c.float_attr("low", 0.0);
  const double b = normal ? c.float_attr("scale", 1.0) : c.float_attr("high", 1.0);
  SymShape shape;
  DType dtype = DType::F32;
  if (like) {
    shape = c.fact(0).shape;
    dtype = c.fact(0).dtype;
  } else {
    const auto given = c.ints_attr("shape");
    check(given.has_value(), ErrorKind::Parse, "attribute 'shape' (ints) is required");
    shape.assign(given->begin(), given->end());
  }
  const RandomFn fn = normal ? RandomFn::Normal : RandomFn::Uniform;
  // The input of the "like" forms is an edge only: it makes its sizes known first.
  std::vector<ValueId> inputs;
  if (like) inputs.push_back(c.in(0));
  return {c.add1(make_op<ops::Random>(fn, dtype_attr(c, "dtype", dtype), shape, seed_of(c), a, b),
                 std::move(inputs))};
}

// a0 − a1·cos(2πn/N) + a2·cos(4πn/N).
std::vector<ValueId> window(NodeContext& c, double a0, double a1, double a2) {
  const DType dtype = dtype_attr(c, "output_datatype", DType::F32);
  const ValueId size = cast(c, c.in(0), DType::I64);
  const Fact& f = c.graph().fact(size);
  const Dim n = elements(f.shape);
  check(n.is(1), ErrorKind::Shape, "input 0 'size' must hold one element, got {}", f.str());
  const ValueId zero = int_constant(c, 0);
  const ValueId one = int_constant(c, 1);
  const auto length = ops::range_length(c.graph().fact(zero), f, c.graph().fact(one));
  const Dim count = length ? *length : c.graph().fresh_symbol("window");
  const ValueId steps = c.add1(make_op<ops::Range>(count, !length), {zero, size, one});
  const bool periodic = c.int_attr("periodic", 1) != 0;
  const ValueId period = periodic ? size : binary(c, BinaryFn::Sub, size, one);
  const ValueId turn =
      binary(c, BinaryFn::Div, cast(c, steps, DType::F64), cast(c, period, DType::F64));
  const auto cosine = [&](double times, double weight) {
    const ValueId angle = binary(c, BinaryFn::Mul, turn, 2 * std::numbers::pi * times);
    return binary(c, BinaryFn::Mul, unary(c, UnaryFn::Cos, angle), weight);
  };
  ValueId sum = binary(c, BinaryFn::Add, cosine(1, -a1), a0);
  if (a2 != 0) sum = binary(c, BinaryFn::Add, sum, cosine(2, a2));
  return {cast(c, sum, dtype)};
}

}  // namespace

std::vector<ValueId> import_random(NodeContext& c) {
  return generate(c, false);
}

std::vector<ValueId> import_random_like(NodeContext& c) {
  return generate(c, true);
}

std::vector<ValueId> import_bernoulli(NodeContext& c) {
  const DType dtype = dtype_attr(c, "dtype", c.fact(0).dtype);
  return {
      c.add1(make_op<ops::Random>(RandomFn::Bernoulli, dtype, SymShape{}, seed_of(c)), {c.in(0)})};
}

std::vector<ValueId> import_multinomial(NodeContext& c) {
  const std::int64_t samples = c.int_attr("sample_size", 1);
  check(samples >= 0, ErrorKind::Shape, "attribute 'sample_size' is {}", samples);
  check(c.fact(0).rank() == 2, ErrorKind::Shape, "input 0 has rank {}, expected 2",
        c.fact(0).rank());
  const SymShape shape{c.fact(0).shape[0], samples};
  return {c.add1(make_op<ops::Random>(RandomFn::Multinomial, dtype_attr(c, "dtype", DType::I32),
                                      shape, seed_of(c)),
                 {c.in(0)})};
}

std::vector<ValueId> import_hann_window(NodeContext& c) {
  return window(c, 0.5, 0.5, 0);
}

std::vector<ValueId> import_hamming_window(NodeContext& c) {
  return window(c, 25.0 / 46, 21.0 / 46, 0);
}

std::vector<ValueId> import_blackman_window(NodeContext& c) {
  return window(c, 0.42, 0.5, 0.08);
}

}  // namespace treadle::onnx
