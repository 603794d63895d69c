#include "ops/unique.hpp"

#include <algorithm>
#include <numeric>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

// −1, 0 or 1; NaN is above every number and equal to none in value, so two NaNs compare by position
// in the caller.
template <typename T>
int order_of(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::string>) {
    return a < b ? -1 : a == b ? 0 : 1;
  } else {
    const auto x = widen(a);
    const auto y = widen(b);
    if constexpr (std::is_floating_point_v<std::remove_cv_t<decltype(x)>>) {
      if (std::isnan(x) || std::isnan(y)) {
        return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
      }
    }
    return x < y ? -1 : y < x ? 1 : 0;
  }
}

template <typename T>
bool is_nan(const T& v) {
  if constexpr (std::is_same_v<T, std::string>) {
    return false;
  } else {
    const auto x = widen(v);
    return x != x;
  }
}

struct Slices {
  AxisView v;
  template <typename T>
  int compare(const T* x, std::int64_t a, std::int64_t b) const {
    for (std::int64_t o = 0; o < v.outer; ++o) {
      for (std::int64_t i = 0; i < v.inner; ++i) {
        const int c =
            order_of(x[(o * v.size + a) * v.inner + i], x[(o * v.size + b) * v.inner + i]);
        if (c != 0) return c;
      }
    }
    return 0;
  }
  template <typename T>
  bool has_nan(const T* x, std::int64_t a) const {
    for (std::int64_t o = 0; o < v.outer; ++o) {
      for (std::int64_t i = 0; i < v.inner; ++i) {
        if (is_nan(x[(o * v.size + a) * v.inner + i])) return true;
      }
    }
    return false;
  }
};

struct Groups {
  std::vector<std::int64_t> first, inverse, counts;
};

template <typename T>
Groups group(const T* x, const Slices& s, bool sorted) {
  const auto n = static_cast<std::size_t>(s.v.size);
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return s.compare(x, a, b) < 0; });
  Groups g;
  g.inverse.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool same = i > 0 && s.compare(x, order[i - 1], order[i]) == 0 && !s.has_nan(x, order[i]);
    if (!same) {
      g.first.push_back(order[i]);
      g.counts.push_back(0);
    }
    ++g.counts.back();
    g.inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(g.first.size()) - 1;
  }
  if (sorted) return g;
  std::vector<std::int64_t> by_place(g.first.size());
  std::iota(by_place.begin(), by_place.end(), 0);
  std::sort(by_place.begin(), by_place.end(), [&](std::int64_t a, std::int64_t b) {
    return g.first[static_cast<std::size_t>(a)] < g.first[static_cast<std::size_t>(b)];
  });
  Groups out;
  std::vector<std::int64_t> renamed(by_place.size());
  for (std::size_t i = 0; i < by_place.size(); ++i) {
    const auto old = static_cast<std::size_t>(by_place[i]);
    out.first.push_back(g.first[old]);
    out.counts.push_back(g.counts[old]);
    renamed[old] = static_cast<std::int64_t>(i);
  }
  for (const std::int64_t i : g.inverse) {
    out.inverse.push_back(renamed[static_cast<std::size_t>(i)]);
  }
  return out;
}

void put(EvalContext& ctx, std::size_t i, const std::vector<std::int64_t>& values) {
  if (i >= ctx.outputs()) return;
  ctx.set_output(
      i, Tensor::from<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

}  // namespace

void Unique::visit(ParamVisitor& v) const {
  if (axis) v.param("axis", *axis);
  v.param("sorted", sorted);
  v.param("count", count);
}

std::vector<Fact> Unique::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  check(!is_complex(x.dtype), ErrorKind::Type, "does not apply to {}", x.str());
  SymShape shape{count};
  Dim all = elements(x.shape);
  if (axis) {
    need_axis(*axis, x.rank());
    shape = x.shape;
    all = shape[static_cast<std::size_t>(*axis)];
    shape[static_cast<std::size_t>(*axis)] = count;
  }
  return {Fact::tensor(x.dtype, std::move(shape)), Fact::tensor(DType::I64, {count}),
          Fact::tensor(DType::I64, {all}), Fact::tensor(DType::I64, {count})};
}

void Unique::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  Slices s{{1, x.elements(), 1}};
  if (axis) s.v = axis_view(x.shape, *axis);
  Groups g;
  if (x.dtype == DType::String) {
    g = group(x.as<std::string>(), s, sorted);
  } else {
    dispatch(x.dtype, [&]<typename T>(T) { g = group(x.as<T>(), s, sorted); });
  }
  const auto n = static_cast<std::int64_t>(g.first.size());
  Shape shape{n};
  if (axis) {
    shape = x.shape;
    shape[static_cast<std::size_t>(*axis)] = n;
  }
  allocate_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    std::int64_t to = 0;
    for (std::int64_t o = 0; o < s.v.outer; ++o) {
      for (const std::int64_t f : g.first) {
        copy_run(x.dtype, y.data, to, x.data, (o * s.v.size + f) * s.v.inner, s.v.inner);
        to += s.v.inner;
      }
    }
  });
  put(ctx, 1, g.first);
  put(ctx, 2, g.inverse);
  put(ctx, 3, g.counts);
}

}  // namespace treadle::ops
