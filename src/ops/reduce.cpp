#include "ops/reduce.hpp"

#include <algorithm>
#include <array>

#include "ops/checks.hpp"
#include "ops/loop.hpp"

namespace treadle::ops {
namespace {

constexpr std::array<std::string_view, 12> kNames = {"sum",     "mean",        "prod", "min",
                                                     "max",     "sum_square",  "l1",   "l2",
                                                     "log_sum", "log_sum_exp", "any",  "all"};

bool accepts(ReduceFn f, DType t) {
  if (f == ReduceFn::Any || f == ReduceFn::All) return t == DType::Bool;
  if (f == ReduceFn::Min || f == ReduceFn::Max) {
    return is_float(t) || is_integer(t) || t == DType::Bool;
  }
  return is_float(t) || is_integer(t);
}

Dim combine(ReduceFn fn, const Dim& a, const Dim& b) {
  switch (fn) {
    case ReduceFn::Sum:
      return a + b;
    case ReduceFn::Prod:
      return a * b;
    case ReduceFn::Min:
      return min(a, b);
    default:
      return max(a, b);
  }
}

// Sums, products and extremes of symbolic sizes.
void fold_sizes(ReduceFn fn, const Fact& x, Fact& out) {
  const bool folds =
      fn == ReduceFn::Sum || fn == ReduceFn::Prod || fn == ReduceFn::Min || fn == ReduceFn::Max;
  if (!folds || !x.dims || !is_const(x.shape) || !is_signed_integer(x.dtype)) return;
  const Shape from = concrete(x.shape), to = concrete(out.shape);
  if (from.elements() == 0) return;
  std::vector<std::optional<Dim>> sums(static_cast<std::size_t>(to.elements()));
  const std::array<const Shape*, 1> target = {&to};
  const StridedLoop loop = broadcast_loop("reduce", from, target);
  try {
    for_each_row(loop, [&](const std::int64_t* at) {
      for (std::int64_t i = 0; i < loop.row(); ++i) {
        auto& sum = sums[static_cast<std::size_t>(at[1] + i * loop.row_stride(1))];
        const Dim& d = (*x.dims)[static_cast<std::size_t>(at[0] + i * loop.row_stride(0))];
        sum = sum ? combine(fn, *sum, d) : d;
      }
    });
  } catch (const Error&) {
    return;  // an expression that overflows is left to run time
  }
  std::vector<Dim> dims;
  for (const auto& s : sums) dims.push_back(*s);
  out.dims = std::make_shared<const std::vector<Dim>>(std::move(dims));
}

SymShape reduced(const SymShape& shape, const std::vector<std::int64_t>& axes) {
  SymShape out = shape;
  for (const std::int64_t a : axes) out[static_cast<std::size_t>(a)] = Dim(1);
  return out;
}

}  // namespace

std::string_view name_of(ReduceFn f) {
  return kNames[static_cast<std::size_t>(f)];
}

void Reduce::visit(ParamVisitor& v) const {
  v.param("fn", name_of(fn));
  v.param("axes", axes);
}

std::vector<Fact> Reduce::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(accepts(fn, x.dtype), ErrorKind::Type, "input 0 'x': {} does not accept dtype {}",
        name_of(fn), name_of(x.dtype));
  need_axes(axes, x.rank());
  Fact out = Fact::tensor(x.dtype, reduced(x.shape, axes));
  fold_sizes(fn, x, out);
  return {std::move(out)};
}

Cost Reduce::cost(InputFacts in, std::span<const Fact>) const {
  return {elements(in[0]->shape)};
}

std::optional<AxisChange> Reduce::change_axes(InputFacts, std::span<const Fact>,
                                              const Perm& perm) const {
  return AxisChange{make_op<Reduce>(fn, permuted_axes(axes, perm)), {perm}};
}

void ArgReduce::visit(ParamVisitor& v) const {
  v.param("max", max);
  v.param("axis", axis);
  v.param("select_last", select_last);
  v.param("skip_nan", skip_nan);
}

std::vector<Fact> ArgReduce::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(is_float(x.dtype) || is_integer(x.dtype), ErrorKind::Type,
        "input 0 'x' has dtype {}, expected a number", name_of(x.dtype));
  need_axes({axis}, x.rank());
  check(!skip_nan || !select_last, ErrorKind::Shape, "skip_nan and select_last are both set");
  check(!x.shape[static_cast<std::size_t>(axis)].is(0), ErrorKind::Shape,
        "input 0 'x' has shape {}: axis {} is empty and has no extreme", str(x.shape), axis);
  return {Fact::tensor(DType::I64, reduced(x.shape, {axis}))};
}

std::optional<AxisChange> ArgReduce::change_axes(InputFacts, std::span<const Fact>,
                                                 const Perm& perm) const {
  const auto at = permuted_axes({axis}, perm);
  return AxisChange{make_op<ArgReduce>(max, at.front(), select_last, skip_nan), {perm}};
}

}  // namespace treadle::ops
