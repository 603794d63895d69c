#include "ops/cumulative.hpp"

#include "ops/build.hpp"
#include "ops/checks.hpp"
#include "ops/elements.hpp"
#include "ops/facts.hpp"

namespace treadle::ops {
namespace {

template <typename T>
void run(const Cumulative& op, const AxisView& v, const T* x, T* y) {
  using A = std::conditional_t<std::is_same_v<T, float>, double, compute_t<T>>;
  const bool sum = op.fn == CumulativeFn::Sum;
  const auto step = [sum](A a, A e) -> A {
    if constexpr (std::is_integral_v<A>)
      return sum ? wrap_add(a, e) : wrap_mul(a, e);
    else
      return sum ? a + e : a * e;
  };
  for (std::int64_t strip = 0; strip < v.outer * v.inner; ++strip) {
    const std::int64_t base = strip / v.inner * v.size * v.inner + strip % v.inner;
    A acc = sum ? A(0) : A(1);
    for (std::int64_t k = 0; k < v.size; ++k) {
      const std::int64_t at = base + (op.reverse ? v.size - 1 - k : k) * v.inner;
      const A next = step(acc, static_cast<A>(widen(x[at])));
      y[at] = convert<T>(op.exclusive ? acc : next);
      acc = next;
    }
  }
}

}  // namespace

void Cumulative::visit(ParamVisitor& v) const {
  v.param("fn", fn == CumulativeFn::Sum ? "sum" : "prod");
  if (axis) v.param("axis", *axis);
  v.param("exclusive", exclusive);
  v.param("reverse", reverse);
}

std::vector<Fact> Cumulative::infer(InputFacts in) const {
  expect_inputs(in, axis ? 1 : 2);
  const Fact& x = tensor_input(in, 0, "x");
  check(is_float(x.dtype) || is_integer(x.dtype), ErrorKind::Type,
        "input 0 'x' has dtype {}, expected a number", name_of(x.dtype));
  if (axis) {
    expect_axes({*axis}, x.rank());
  } else {
    const Fact& a = tensor_input(in, 1, "axis");
    check(is_integer(a.dtype), ErrorKind::Type, "input 1 'axis' has dtype {}, expected an integer",
          name_of(a.dtype));
  }
  return {Fact::tensor(x.dtype, x.shape)};
}

void Cumulative::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  std::int64_t along = axis.value_or(0);
  if (!axis) {
    const auto given = read_ints(ctx.in(1), "Cumulative");
    check(given.size() == 1, ErrorKind::Shape, "input 1 'axis' has {} elements, expected 1",
          given.size());
    along = normal_axis(given[0], x.shape.rank());
  }
  const AxisView v = axis_view(x.shape, along);
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (!std::is_same_v<T, bool>) run(*this, v, x.as<T>(), y.as<T>());
  });
}

std::optional<AxisChange> Cumulative::change_axes(InputFacts, std::span<const Fact>,
                                                  const Perm& perm) const {
  if (!axis) return std::nullopt;
  auto op = std::make_shared<Cumulative>(*this);
  op->axis = permuted_axes({*axis}, perm).front();
  return AxisChange{std::move(op), {perm}};
}

}  // namespace treadle::ops
