#include "ops/softmax.hpp"

#include <array>
#include <vector>

#include "ops/checks.hpp"
#include "ops/elements.hpp"
#include "ops/loop.hpp"

namespace treadle::ops {
namespace {

template <typename T>
void softmax(const StridedLoop& loop, std::size_t groups, bool log, const T* x, T* y) {
  using C = compute_t<T>;
  std::vector<C> top(groups, -std::numeric_limits<C>::infinity());
  std::vector<double> sum(groups, 0.0);
  for_each_pair(loop,
                [&](std::int64_t i, std::size_t g) { top[g] = nan_max(top[g], widen(x[i])); });
  for_each_pair(loop, [&](std::int64_t i, std::size_t g) {
    sum[g] += static_cast<double>(std::exp(widen(x[i]) - top[g]));
  });
  for_each_pair(loop, [&](std::int64_t i, std::size_t g) {
    const C v = widen(x[i]) - top[g];
    y[i] = convert<T>(log ? v - static_cast<C>(std::log(sum[g]))
                          : static_cast<C>(static_cast<double>(std::exp(v)) / sum[g]));
  });
}

}  // namespace

void Softmax::visit(ParamVisitor& v) const {
  v.param("axes", axes);
  v.param("log", log);
}

std::vector<Fact> Softmax::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(is_float(x.dtype), ErrorKind::Type, "input 0 'x' has dtype {}, expected a float",
        name_of(x.dtype));
  need_axes(axes, x.rank());
  return {Fact::tensor(x.dtype, x.shape)};
}

void Softmax::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  Shape groups = x.shape;
  for (const std::int64_t a : axes) groups[static_cast<std::size_t>(a)] = 1;
  const std::array<const Shape*, 1> target = {&groups};
  const StridedLoop loop = broadcast_loop("softmax", x.shape, target);
  const auto count = static_cast<std::size_t>(groups.elements());
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) softmax(loop, count, log, x.as<T>(), y.as<T>());
  });
}

Cost Softmax::cost(InputFacts, std::span<const Fact> out) const {
  return {Dim(4) * elements(out[0].shape)};
}

std::optional<AxisChange> Softmax::change_axes(InputFacts, std::span<const Fact>,
                                               const Perm& perm) const {
  return AxisChange{make_op<Softmax>(permuted_axes(axes, perm), log), {perm}};
}

}  // namespace treadle::ops
