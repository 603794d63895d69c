// Simulated quantisation.
#include <cmath>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"

namespace treadle::tf {
namespace {

// The range moved so that 0 is one of the steps (fake_quant_ops_functor.h, Nudge).
struct Range {
  float low = 0, high = 0, step = 0;
};

Range nudge(float low, float high, float first, float last) {
  Range r;
  r.step = (high - low) / (last - first);
  const float zero = first - low / r.step;
  const float at = zero < first ? first : zero > last ? last : std::round(zero);
  r.low = (first - at) * r.step;
  r.high = (last - at) * r.step;
  return r;
}

// x to the nearest step of [low, high]; one range, or one for each index of the last axis.
ValueId fake_quant(NodeContext& c, const std::vector<float>& low, const std::vector<float>& high) {
  const std::int64_t bits = c.int_attr("num_bits", 8);
  check(bits >= 2 && bits <= 16, ErrorKind::Parse, "attribute 'num_bits' is {}, expected 2 to 16",
        bits);
  const float first = c.bool_attr("narrow_range", false) ? 1 : 0;
  const auto last = static_cast<float>((1 << bits) - 1);
  Graph& g = c.graph();
  const auto n = static_cast<std::int64_t>(low.size());
  Tensor lows(DType::F32, {n}), highs(DType::F32, {n}), steps(DType::F32, {n});
  for (std::size_t i = 0; i < low.size(); ++i) {
    check(low[i] <= 0 && high[i] >= 0 && low[i] < high[i], ErrorKind::Unsupported,
          "the range is {} to {}, expected one around 0", low[i], high[i]);
    const Range r = nudge(low[i], high[i], first, last);
    lows.mutable_span<float>()[i] = r.low;
    highs.mutable_span<float>()[i] = r.high;
    steps.mutable_span<float>()[i] = r.step;
  }
  const auto make = [&](ops::BinaryFn fn, ValueId a, ValueId b) {
    return ops::binary(g, c.fresh_name(), fn, a, b);
  };
  const auto value = [&](Tensor t) {
    const ValueId v = c.constant(std::move(t));
    return c.fact(0).rank() == 0 ? ops::reshape(g, c.fresh_name(), v, {}) : v;
  };
  const ValueId base = value(std::move(lows)), step = value(std::move(steps));
  ValueId x = make(ops::BinaryFn::Max, c.in(0), base);
  x = make(ops::BinaryFn::Min, x, value(std::move(highs)));
  x = make(ops::BinaryFn::Div, make(ops::BinaryFn::Sub, x, base), step);
  x = make(ops::BinaryFn::Add, x, ops::scalar_like(g, c.fresh_name(), 0.5, x));
  x = ops::unary(g, c.fresh_name(), ops::UnaryFn::Floor, x);
  return make(ops::BinaryFn::Add, make(ops::BinaryFn::Mul, x, step), base);
}

std::vector<float> constant_floats(NodeContext& c, std::size_t i) {
  const Fact& f = c.fact(i);
  check(f.value && f.dtype == DType::F32, ErrorKind::Unsupported,
        "input {} must be a constant, got {}", i, f.str());
  return f.value->to_f32();
}

}  // namespace

std::vector<ValueId> import_fake_quant_args(NodeContext& c) {
  return {fake_quant(c, {static_cast<float>(c.float_attr("min", -6))},
                     {static_cast<float>(c.float_attr("max", 6))})};
}

std::vector<ValueId> import_fake_quant_vars(NodeContext& c) {
  const auto low = constant_floats(c, 1), high = constant_floats(c, 2);
  const bool each = c.node().op == "FakeQuantWithMinMaxVarsPerChannel";
  const SymShape& shape = c.fact(0).shape;
  check(low.size() == high.size() &&
            (each ? !shape.empty() && shape.back().is(static_cast<std::int64_t>(low.size()))
                  : low.size() == 1),
        ErrorKind::Shape, "inputs 'min' and 'max' have {} and {} elements for an input of shape {}",
        low.size(), high.size(), str(shape));
  return {fake_quant(c, low, high)};
}

}  // namespace treadle::tf
