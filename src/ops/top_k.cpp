#include "ops/top_k.hpp"

#include <algorithm>
#include <numeric>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

template <typename C>
bool above(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return a > b;
}

// Positions of the `count` best of `size` elements that lie `inner` apart.
template <typename T>
std::vector<std::int64_t> best(const T* x, const AxisView& v, std::int64_t count, bool largest) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(v.size));
  std::iota(order.begin(), order.end(), 0);
  const auto first = [&](std::int64_t a, std::int64_t b) {
    const auto p = widen(x[a * v.inner]);
    const auto q = widen(x[b * v.inner]);
    if (largest ? above(p, q) : above(q, p)) return true;
    if (largest ? above(q, p) : above(p, q)) return false;
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + count, order.end(), first);
  order.resize(static_cast<std::size_t>(count));
  return order;
}

}  // namespace

void TopK::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("k", k);
  v.param("largest", largest);
  v.param("fresh", fresh);
}

std::vector<Fact> TopK::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  need_axis(axis, x.rank());
  check(x.dtype != DType::String && !is_complex(x.dtype), ErrorKind::Type, "cannot order {}",
        x.str());
  if (fresh) need_integer(need(in, 1), 1);
  const Dim& size = x.shape[static_cast<std::size_t>(axis)];
  check(!k.is_const() || k.value() >= 0, ErrorKind::Shape, "k is {}", k.str());
  check(!k.is_const() || !size.is_const() || k.value() <= size.value(), ErrorKind::Shape,
        "k is {}, axis {} of input {} has fewer elements", k.str(), axis, x.str());
  SymShape shape = x.shape;
  shape[static_cast<std::size_t>(axis)] = k;
  return {Fact::tensor(x.dtype, shape), Fact::tensor(DType::I64, shape)};
}

void TopK::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const AxisView v = axis_view(x.shape, axis);
  std::int64_t count = 0;
  if (fresh) {
    const auto given = read_ints(ctx.in(1));
    check(given.size() == 1, ErrorKind::Shape, "k must be one element, got {}", given.size());
    count = given[0];
  } else {
    count = ctx.value_of(k);
  }
  check(count >= 0 && count <= v.size, ErrorKind::Shape,
        "k is {}, axis {} of input {} does not have so many elements", count, axis, x.shape.str());
  Shape shape = x.shape;
  shape[static_cast<std::size_t>(axis)] = count;
  const auto fill = [&](TensorView& values, TensorView& positions) {
    dispatch(x.dtype, [&]<typename T>(T) {
      auto* to = values.as<T>();
      auto* at = positions.as<std::int64_t>();
      for (std::int64_t o = 0; o < v.outer; ++o) {
        for (std::int64_t i = 0; i < v.inner; ++i) {
          const T* from = x.as<T>() + o * v.size * v.inner + i;
          const auto order = best(from, v, count, largest);
          for (std::int64_t n = 0; n < count; ++n) {
            const std::int64_t p = order[static_cast<std::size_t>(n)];
            to[(o * count + n) * v.inner + i] = from[p * v.inner];
            at[(o * count + n) * v.inner + i] = p;
          }
        }
      }
    });
  };
  if (fresh) {
    Tensor values(x.dtype, shape);
    Tensor positions(DType::I64, shape);
    TensorView a = values.view();
    TensorView b = positions.view();
    fill(a, b);
    ctx.set_output(0, std::move(values));
    ctx.set_output(1, std::move(positions));
    return;
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& values) {
    write_output(ctx, 1, DType::I64, shape,
                 [&](TensorView& positions) { fill(values, positions); });
  });
}

}  // namespace treadle::ops
