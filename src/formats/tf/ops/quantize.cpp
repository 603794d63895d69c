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
  const ValueId empty = c.binary(BinaryFn::Equal, span, number(0));
  return c.select(empty, number(0), mul(steps, step));
}

// Throws Unsupported error where a range is known and not one around 0.
void check_range(NodeContext& c, ValueId low, ValueId high) {
  const auto l = c.graph().fact(low).value, h = c.graph().fact(high).value;
  if (!l || !h) return;
  const auto lows = l->to_f64(), highs = h->to_f64();
  for (std::size_t i = 0; i < std::min(lows.size(), highs.size()); ++i) {
    check(lows[i] <= 0 && highs[i] >= 0, ErrorKind::Unsupported,
          "the range is {} to {}, expected one around 0", lows[i], highs[i]);
  }
}

}  // namespace

std::vector<ValueId> import_fake_quant_args(NodeContext& c) {
  const auto number = [&](const char* name, double fallback) {
    return c.constant(Tensor::scalar<float>(static_cast<float>(c.float_attr(name, fallback))));
  };
  const ValueId low = number("min", -6), high = number("max", 6);
  check_range(c, low, high);
  return {fake_quant(c, low, high)};
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
  check_range(c, c.in(1), c.in(2));
  return {fake_quant(c, c.in(1), c.in(2))};
}

}  // namespace treadle::tf
