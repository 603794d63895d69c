#include "ops/norm.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "ops/checks.hpp"
#include "ops/elements.hpp"
#include "ops/loop.hpp"

namespace treadle::ops {
namespace {

Fact float_like(InputFacts in) {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(is_float(x.dtype), ErrorKind::Type, "input 0 'x' has dtype {}, expected a float",
        name_of(x.dtype));
  return Fact::tensor(x.dtype, x.shape);
}

// Sums in f64; `count` elements make a group.
template <typename T>
void normalise(const Norm& op, const StridedLoop& loop, std::size_t groups, double count,
               const T* x, T* y) {
  const auto value = [x](std::int64_t i) { return static_cast<double>(widen(x[i])); };
  std::vector<double> mean(groups, 0.0), scale(groups, 0.0);
  if (op.center) {
    for_each_pair(loop, [&](std::int64_t i, std::size_t g) { mean[g] += value(i); });
    for (double& m : mean) m /= count;
  }
  for_each_pair(loop, [&](std::int64_t i, std::size_t g) {
    const double d = value(i) - mean[g];
    scale[g] += d * d;
  });
  for (double& s : scale) s = 1.0 / std::sqrt(s / count + op.epsilon);
  for_each_pair(loop, [&](std::int64_t i, std::size_t g) {
    y[i] = convert<T>((value(i) - mean[g]) * scale[g]);
  });
}

template <typename T>
void lrn(const Lrn& op, const Shape& shape, const T* x, T* y) {
  const auto axis = static_cast<std::size_t>(op.axis);
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t channels = shape[axis];
  const std::int64_t before = (op.size - 1) / 2, after = op.size - 1 - before;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(0, c - before);
      const std::int64_t last = std::min(channels - 1, c + std::min(after, channels));
      for (std::int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (std::int64_t k = first; k <= last; ++k) {
          const double v = static_cast<double>(widen(x[(o * channels + k) * inner + i]));
          sum += v * v;
        }
        const std::int64_t at = (o * channels + c) * inner + i;
        const double base = op.bias + op.alpha / static_cast<double>(op.size) * sum;
        y[at] = convert<T>(static_cast<double>(widen(x[at])) / std::pow(base, op.beta));
      }
    }
  }
}

}  // namespace

void Norm::visit(ParamVisitor& v) const {
  v.param("axes", axes);
  v.param("epsilon", epsilon);
  v.param("center", center);
}

std::vector<Fact> Norm::infer(InputFacts in) const {
  Fact out = float_like(in);
  need_axes(axes, out.rank());
  return {std::move(out)};
}

void Norm::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  Shape groups = x.shape;
  double count = 1;
  for (const std::int64_t a : axes) {
    count *= static_cast<double>(groups[static_cast<std::size_t>(a)]);
    groups[static_cast<std::size_t>(a)] = 1;
  }
  const std::array<const Shape*, 1> target = {&groups};
  const StridedLoop loop = broadcast_loop("norm", x.shape, target);
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) {
      normalise(*this, loop, static_cast<std::size_t>(groups.elements()), count, x.as<T>(),
                y.as<T>());
    }
  });
}

Cost Norm::cost(InputFacts, std::span<const Fact> out) const {
  return {Dim(center ? 6 : 4) * elements(out[0].shape)};
}

std::optional<AxisChange> Norm::change_axes(InputFacts, std::span<const Fact>,
                                            const Perm& perm) const {
  return AxisChange{make_op<Norm>(permuted_axes(axes, perm), epsilon, center), {perm}};
}

void Lrn::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("size", size);
  v.param("alpha", alpha);
  v.param("beta", beta);
  v.param("bias", bias);
}

std::vector<Fact> Lrn::infer(InputFacts in) const {
  Fact out = float_like(in);
  need_axes({axis}, out.rank());
  check(size > 0, ErrorKind::Shape, "size is {}, expected at least 1", size);
  return {std::move(out)};
}

void Lrn::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) lrn(*this, x.shape, x.as<T>(), y.as<T>());
  });
}

std::optional<AxisChange> Lrn::change_axes(InputFacts, std::span<const Fact>,
                                           const Perm& perm) const {
  auto op = std::make_shared<Lrn>(*this);
  op->axis = permuted_axes({axis}, perm).front();
  return AxisChange{std::move(op), {perm}};
}

}  // namespace treadle::ops
