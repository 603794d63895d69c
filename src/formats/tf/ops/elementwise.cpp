// Elementwise operators that are several core ones, and their like.
#include <iterator>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"

namespace treadle::tf {
namespace {

using ops::BinaryFn;

// `value` where `zero` is not 0, and 0 where it is.
ValueId unless_zero(NodeContext& c, ValueId zero, ValueId value) {
  const ValueId is_zero = c.binary(BinaryFn::Equal, zero, c.scalar(0, zero));
  return c.select(is_zero, c.scalar(0, value), value);
}

}  // namespace

std::vector<ValueId> import_is_finite(NodeContext& c) {
  // x − x is 0 for finite x, NaN otherwise.
  const ValueId zero = c.binary(BinaryFn::Sub, c.in(0), c.in(0));
  return {c.binary(BinaryFn::Equal, zero, c.scalar(0, zero))};
}

// 1 − erf(x), but in its tail t·exp(−x² + p(t)) with t = 1/(1 + x/2) (Press et al., Numerical
// Recipes, erfcc: within 1.2e-7 of erfc): the difference has few digits where erf is almost 1, for
// f64 from 4 on.
std::vector<ValueId> import_erfc(NodeContext& c) {
  constexpr double kFit[] = {0.17087277,  -0.82215223, 1.48851587, -1.13520398, 0.27886807,
                             -0.18628806, 0.09678418,  0.37409196, 1.00002368,  -1.26551223};
  const ValueId x = c.in(0);
  const ValueId difference = c.binary(BinaryFn::Sub, c.scalar(1, x), c.unary(ops::UnaryFn::Erf, x));
  const ValueId right = c.binary(BinaryFn::Max, x, c.scalar(0, x));
  const ValueId half = c.binary(BinaryFn::Mul, right, c.scalar(0.5, x));
  const ValueId t =
      c.unary(ops::UnaryFn::Reciprocal, c.binary(BinaryFn::Add, half, c.scalar(1, x)));
  ValueId p = c.scalar(kFit[0], x);
  for (std::size_t i = 1; i < std::size(kFit); ++i) {
    p = c.binary(BinaryFn::Add, c.binary(BinaryFn::Mul, p, t), c.scalar(kFit[i], x));
  }
  const ValueId exponent = c.binary(BinaryFn::Sub, p, c.unary(ops::UnaryFn::Square, right));
  const ValueId tail = c.binary(BinaryFn::Mul, c.unary(ops::UnaryFn::Exp, exponent), t);
  const double from = c.fact(0).dtype == DType::F64 ? 4 : 0.5;
  const ValueId in_tail = c.binary(BinaryFn::Greater, x, c.scalar(from, x));
  return {c.select(in_tail, tail, difference)};
}

// x·log(y), x/y: 0 where x is.
std::vector<ValueId> import_xlogy(NodeContext& c) {
  const ValueId log = c.unary(ops::UnaryFn::Log, c.in(1));
  return {unless_zero(c, c.in(0), c.binary(BinaryFn::Mul, c.in(0), log))};
}

std::vector<ValueId> import_xdivy(NodeContext& c) {
  return {unless_zero(c, c.in(0), c.binary(BinaryFn::Div, c.in(0), c.in(1)))};
}

// x/y, x·y: 0 where y is.
std::vector<ValueId> import_div_no_nan(NodeContext& c) {
  return {unless_zero(c, c.in(1), c.binary(BinaryFn::Div, c.in(0), c.in(1)))};
}

std::vector<ValueId> import_mul_no_nan(NodeContext& c) {
  return {unless_zero(c, c.in(1), c.binary(BinaryFn::Mul, c.in(0), c.in(1)))};
}

// Half of the sum of squares.
std::vector<ValueId> import_l2_loss(NodeContext& c) {
  std::vector<std::int64_t> axes;
  for (int i = 0; i < c.fact(0).rank(); ++i) axes.push_back(i);
  const ValueId sum =
      ops::reduce(c.graph(), c.fresh_name(), ops::ReduceFn::SumSquare, c.in(0), axes, false);
  return {c.binary(BinaryFn::Mul, sum, c.scalar(0.5, sum))};
}

std::vector<ValueId> import_lin_space(NodeContext& c) {
  const auto count = c.constant_ints(2);
  const Fact &a = c.fact(0), &b = c.fact(1);
  check(a.value && b.value && a.value->elements() == 1 && b.value->elements() == 1 &&
            count.size() == 1,
        ErrorKind::Unsupported, "inputs must be constants of one element, got {} and {}", a.str(),
        b.str());
  check(count[0] > 0 && count[0] <= (1 << 24), ErrorKind::Shape, "input 2 'num' is {}", count[0]);
  const double first = a.value->to_f64()[0], last = b.value->to_f64()[0];
  const auto n = static_cast<double>(count[0]);
  Tensor t(DType::F64, {count[0]});
  auto out = t.mutable_span<double>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = out.size() == 1 ? first : first + (last - first) * static_cast<double>(i) / (n - 1);
  const DType dtype = a.dtype;
  return {ops::cast(c.graph(), c.fresh_name(), c.constant(std::move(t)), dtype)};
}

}  // namespace treadle::tf
