#include "ops/cumulative.hpp"

#include "ops/axis.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

template <typename C>
C combine(CumulativeFn fn, C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return fn == CumulativeFn::Sum ? wrap_add(a, b) : wrap_mul(a, b);
  } else {
    return fn == CumulativeFn::Sum ? a + b : a * b;
  }
}

template <typename T>
void scan(const Cumulative& op, const AxisView& v, const T* x, T* y) {
  using C = compute_t<T>;
  const std::int64_t step = op.reverse ? -v.inner : v.inner;
  for (std::int64_t o = 0; o < v.outer; ++o) {
    for (std::int64_t i = 0; i < v.inner; ++i) {
      std::int64_t at = o * v.size * v.inner + i + (op.reverse ? (v.size - 1) * v.inner : 0);
      C total = op.fn == CumulativeFn::Sum ? C{0} : C{1};
      for (std::int64_t n = 0; n < v.size; ++n, at += step) {
        const C next = combine(op.fn, total, widen(x[at]));
        y[at] = convert<T>(op.exclusive ? total : next);
        total = next;
      }
    }
  }
}

}  // namespace

void Cumulative::visit(ParamVisitor& v) const {
  v.param("fn", fn == CumulativeFn::Sum ? "sum" : "prod");
  v.param("axis", axis);
  v.param("exclusive", exclusive);
  v.param("reverse", reverse);
}

std::vector<Fact> Cumulative::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  need_axis(axis, x.rank());
  check(is_integer(x.dtype) || is_float(x.dtype), ErrorKind::Type, "does not apply to {}", x.str());
  return {Fact::tensor(x.dtype, x.shape)};
}

void Cumulative::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  write_output(ctx, 0, x.dtype, x.shape, [&](TensorView& y) {
    dispatch(x.dtype, [&]<typename T>(T) {
      if constexpr (!std::is_same_v<T, bool>) {
        scan(*this, axis_view(x.shape, axis), x.as<T>(), y.as<T>());
      }
    });
  });
}

std::optional<AxisChange> Cumulative::change_axes(InputFacts, std::span<const Fact>,
                                                  const Perm& perm) const {
  const std::int64_t to = inverse(perm)[static_cast<std::size_t>(axis)];
  return AxisChange{make_op<Cumulative>(fn, to, exclusive, reverse), {perm}};
}

}  // namespace treadle::ops
