#include "ops/range.hpp"

#include <cmath>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

constexpr double kMaxLength = 9.0e15;

std::int64_t count(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  check(delta != 0, ErrorKind::Shape, "delta is 0");
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  // Unsigned, as the distance of two i64 may need 64 bits.
  const auto lo = static_cast<std::uint64_t>(delta > 0 ? start : limit);
  const auto hi = static_cast<std::uint64_t>(delta > 0 ? limit : start);
  const auto d = static_cast<std::uint64_t>(delta);
  const std::uint64_t by = delta > 0 ? d : ~d + 1;
  const std::uint64_t n = (hi - lo - 1) / by + 1;
  check(n <= static_cast<std::uint64_t>(kMaxLength), ErrorKind::Shape, "{} to {} by {} is too long",
        start, limit, delta);
  return static_cast<std::int64_t>(n);
}

std::int64_t count(double start, double limit, double delta) {
  check(delta != 0 && std::isfinite(start) && std::isfinite(limit) && std::isfinite(delta),
        ErrorKind::Shape, "{} to {} by {} has no length", start, limit, delta);
  const double n = std::ceil((limit - start) / delta);
  check(n <= kMaxLength, ErrorKind::Shape, "{} to {} by {} is too long", start, limit, delta);
  return n > 0 ? static_cast<std::int64_t>(n) : 0;
}

template <typename T>
std::int64_t length_of(const TensorView& start, const TensorView& limit, const TensorView& delta) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::uint64_t>) {
    fail(ErrorKind::Type, "dtype {} is not supported", name_of(start.dtype));
  } else if constexpr (std::is_integral_v<T>) {
    return count(static_cast<std::int64_t>(*start.as<T>()),
                 static_cast<std::int64_t>(*limit.as<T>()),
                 static_cast<std::int64_t>(*delta.as<T>()));
  } else {
    return count(static_cast<double>(widen(*start.as<T>())),
                 static_cast<double>(widen(*limit.as<T>())),
                 static_cast<double>(widen(*delta.as<T>())));
  }
}

template <typename T>
void fill(TensorView& y, T start, T delta) {
  auto to = y.span<T>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      to[i] = false;
    } else if constexpr (std::is_integral_v<T>) {
      to[i] = wrap_add(start, wrap_mul(static_cast<T>(i), delta));
    } else {
      using C = compute_t<T>;
      to[i] = convert<T>(widen(start) + static_cast<C>(i) * widen(delta));
    }
  }
}

}  // namespace

std::optional<Dim> range_length(const Fact& start, const Fact& limit, const Fact& delta) {
  if (start.value && limit.value && delta.value && start.value->elements() == 1 &&
      limit.value->elements() == 1 && delta.value->elements() == 1 && start.dtype == limit.dtype &&
      start.dtype == delta.dtype) {
    return dispatch(start.dtype, [&]<typename T>(T) {
      return std::optional(
          Dim(length_of<T>(start.value->view(), limit.value->view(), delta.value->view())));
    });
  }
  if (!is_integer(start.dtype)) return std::nullopt;
  const auto a = start.symbolic();
  const auto b = limit.symbolic();
  const auto d = delta.symbolic();
  if (!a || !b || !d || a->size() != 1 || b->size() != 1 || d->size() != 1) return std::nullopt;
  if (!d->front().is_const()) return std::nullopt;
  const std::int64_t step = d->front().value();
  check(step != 0, ErrorKind::Shape, "delta is 0");
  if (step == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  const Dim span = step > 0 ? b->front() - a->front() : a->front() - b->front();
  const Dim n = step == 1 || step == -1 ? span : ceil_div(span, step > 0 ? step : -step);
  // A lone symbol or a product of them is a size, which is never negative.
  if (span.as_symbol()) return n;
  return max(n, 0);
}

void Range::visit(ParamVisitor& v) const {
  v.param("length", length);
  v.param("fresh", fresh);
}

std::vector<Fact> Range::infer(InputFacts in) const {
  const Fact& start = need(in, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const Fact& f = need(in, i);
    need_dtype(f, start.dtype, i);
    const Dim n = elements(f.shape);
    check(!n.is_const() || n.is(1), ErrorKind::Shape, "input {} must be one value, got {}", i,
          f.str());
  }
  Fact out = Fact::tensor(start.dtype, {length});
  const auto a = start.symbolic();
  const auto d = in[2]->symbolic();
  const bool small = length.is_const() && length.value() <= kMaxSymbolicElements;
  if (small && is_integer(start.dtype) && a && d && !a->empty() && !d->empty()) {
    std::vector<Dim> dims;
    for (std::int64_t i = 0; i < length.value(); ++i) dims.push_back(a->front() + d->front() * i);
    out.dims = std::make_shared<const std::vector<Dim>>(std::move(dims));
  }
  return {std::move(out)};
}

void Range::eval(EvalContext& ctx) const {
  const TensorView& start = ctx.in(0);
  for (std::size_t i = 0; i < 3; ++i) {
    check(ctx.in(i).elements() == 1, ErrorKind::Shape, "input {} must be one value, got {}", i,
          ctx.in(i).shape.str());
  }
  dispatch(start.dtype, [&]<typename T>(T) {
    const std::int64_t n = length_of<T>(start, ctx.in(1), ctx.in(2));
    const auto body = [&](TensorView& y) { fill<T>(y, *start.as<T>(), *ctx.in(2).as<T>()); };
    if (fresh) {
      allocate_output(ctx, 0, start.dtype, Shape{n}, body);
    } else {
      write_output(ctx, 0, start.dtype, Shape{n}, body);
    }
  });
}

}  // namespace treadle::ops
