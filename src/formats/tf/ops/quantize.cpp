// Simulated quantisation.
#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/checks.hpp"

namespace treadle::tf {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

// x to the nearest step of the range from low to high, which is moved so that 0 is one of its
// steps: scalars, or one for each index of the last axis. The order of the operations is that of
// fake_quant_ops_functor.h, whose roundings decide which step is the nearest.
ValueId fake_quant(NodeContext& c, ValueId low, ValueId high) {
  const bool divides = c.node().op == "FakeQuantWithMinMaxVars";
  const std::int64_t bits = c.int_attr("num_bits", 8);
  check(bits >= 2 && bits <= 16, ErrorKind::Parse, "attribute 'num_bits' is {}, expected 2 to 16",
        bits);
  check(c.fact(0).dtype == DType::F32, ErrorKind::Type, "input 0 is {}, expected f32",
        c.fact(0).str());
  const double first = c.bool_attr("narrow_range", false) ? 1 : 0;
  const auto last = static_cast<double>((1 << bits) - 1);
  const auto add = [&](ValueId a, ValueId b) { return c.binary(BinaryFn::Add, a, b); };
  const auto sub = [&](ValueId a, ValueId b) { return c.binary(BinaryFn::Sub, a, b); };
  const auto mul = [&](ValueId a, ValueId b) { return c.binary(BinaryFn::Mul, a, b); };
  const auto div = [&](ValueId a, ValueId b) { return c.binary(BinaryFn::Div, a, b); };
  const auto number = [&](double value) { return c.scalar(value, low); };
  const auto rounded = [&](ValueId x) { return c.unary(UnaryFn::Floor, add(x, number(0.5))); };

  const ValueId span = sub(high, low);
  const ValueId step = div(span, number(last - first)), inverse = div(number(last - first), span);
  const ValueId zero =
      c.unary(UnaryFn::Clip, rounded(sub(number(first), div(low, step))), first, last);
  const ValueId from = mul(sub(number(first), zero), step);
  const ValueId to = mul(sub(number(last), zero), step);
  const ValueId steps_to_zero = rounded(mul(c.unary(UnaryFn::Neg, from), inverse));

  const ValueId x = c.binary(BinaryFn::Max, c.binary(BinaryFn::Min, c.in(0), to), from);
  const ValueId shifted = sub(x, from);
  const ValueId steps =
      rounded(sub(divides ? div(shifted, step) : mul(shifted, inverse), steps_to_zero));
  const ValueId size = add(c.unary(UnaryFn::Abs, low), c.unary(UnaryFn::Abs, high));
  const ValueId empty = c.binary(BinaryFn::Equal, size, number(0));  // both ends are 0
  return c.select(empty, number(0), mul(steps, step));
}

}  // namespace

std::vector<ValueId> import_fake_quant_args(NodeContext& c) {
  const auto low = static_cast<float>(c.float_attr("min", -6));
  const auto high = static_cast<float>(c.float_attr("max", 6));
  check(low < high, ErrorKind::Parse, "attribute 'min' is {}, expected less than 'max', {}", low,
        high);
  return {fake_quant(c, c.constant(Tensor::scalar(low)), c.constant(Tensor::scalar(high)))};
}

std::vector<ValueId> import_fake_quant_vars(NodeContext& c) {
  const bool each = c.node().op == "FakeQuantWithMinMaxVarsPerChannel";
  for (std::size_t i = 1; i < 3; ++i) {
    check(c.fact(i).dtype == DType::F32 && c.fact(i).rank() == (each ? 1 : 0), ErrorKind::Shape,
          "input {} is {}, expected f32 and {}", i, c.fact(i).str(),
          each ? "one element for each index of the last axis of input 0" : "a scalar");
  }
  if (each) {
    check(c.fact(0).rank() >= 1, ErrorKind::Shape, "input 0 is a scalar");
    for (std::size_t i = 1; i < 3; ++i)
      ops::agree(c.fact(i).shape[0], c.fact(0).shape.back(), "elements of the range and channels");
  }
  return {fake_quant(c, c.in(1), c.in(2))};
}

}  // namespace treadle::tf
