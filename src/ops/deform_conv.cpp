#include "ops/deform_conv.hpp"

#include <algorithm>
#include <cmath>

#include "ops/checks.hpp"
#include "ops/elements.hpp"
#include "ops/recheck.hpp"
#include "ops/spatial.hpp"

namespace treadle::ops {
namespace {

constexpr int kMaxSpatial = 6;

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t p = 1;
  for (const std::int64_t s : sizes) p = checked_mul(p, s);
  return p;
}

// An element of x that a sample is mixed from.
struct Corner {
  std::int64_t at;
  double weight;
};

// The corners around a point of `sizes` that lie inside.
void find_corners(std::span<const double> point, std::span<const std::int64_t> sizes,
                  std::vector<Corner>& out) {
  out.assign(1, {0, 1.0});
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const double floor = std::floor(point[d]);
    const double part = point[d] - floor;
    std::vector<Corner> next;
    for (const int side : {0, 1}) {
      const double place = floor + side;
      const double weight = side == 1 ? part : 1 - part;
      // Also false for a NaN.
      if (!(place >= 0 && place < static_cast<double>(sizes[d]) && weight > 0)) continue;
      for (const Corner& c : out) {
        next.push_back({c.at * sizes[d] + static_cast<std::int64_t>(place), c.weight * weight});
      }
    }
    out = std::move(next);
  }
}

struct Problem {
  std::span<const std::int64_t> in, kernel, out;  // spatial sizes
  std::int64_t n, c, m;
};

template <typename T>
void run(const DeformConv& op, const Problem& p, EvalContext& ctx) {
  const T *x = ctx.in(0).as<T>(), *w = ctx.in(1).as<T>(), *offset = ctx.in(2).as<T>();
  const auto optional = [&](std::size_t i) -> const T* {
    return i < ctx.inputs() && ctx.input(i) ? ctx.input(i)->as<T>() : nullptr;
  };
  const T *bias = optional(3), *mask = optional(4);
  T* y = ctx.output(0).as<T>();
  const std::size_t axes = p.in.size();
  const std::int64_t area = product(p.in), taps = product(p.kernel), places = product(p.out);
  const std::int64_t shared = p.c / op.offset_group, fan_in = p.c / op.group;
  const std::int64_t fan_out = p.m / op.group;
  std::vector<double> column(static_cast<std::size_t>(p.c * taps)), point(axes);
  std::vector<Corner> corners;
  std::vector<std::int64_t> place(axes), tap(axes);
  for (std::int64_t n = 0; n < p.n; ++n) {
    std::fill(place.begin(), place.end(), 0);
    for (std::int64_t o = 0; o < places; ++o) {
      for (std::int64_t g = 0; g < op.offset_group; ++g) {
        std::fill(tap.begin(), tap.end(), 0);
        for (std::int64_t k = 0; k < taps; ++k) {
          const std::int64_t row = (n * op.offset_group + g) * taps + k;
          for (std::size_t d = 0; d < axes; ++d) {
            const std::int64_t at =
                (row * static_cast<std::int64_t>(axes) + static_cast<std::int64_t>(d)) * places + o;
            point[d] = static_cast<double>(place[d] * op.strides[d] - op.before[d] +
                                           tap[d] * op.dilations[d]) +
                       static_cast<double>(widen(offset[at]));
          }
          find_corners(point, p.in, corners);
          const double scale = mask ? static_cast<double>(widen(mask[row * places + o])) : 1.0;
          for (std::int64_t c = g * shared; c < (g + 1) * shared; ++c) {
            double sum = 0;
            for (const Corner& q : corners) {
              sum += q.weight * static_cast<double>(widen(x[(n * p.c + c) * area + q.at]));
            }
            column[static_cast<std::size_t>(c * taps + k)] = sum * scale;
          }
          next_index(tap, {p.kernel.begin(), p.kernel.end()});
        }
      }
      for (std::int64_t m = 0; m < p.m; ++m) {
        double sum = bias ? static_cast<double>(widen(bias[m])) : 0.0;
        const double* from = column.data() + m / fan_out * fan_in * taps;
        for (std::int64_t i = 0; i < fan_in * taps; ++i) {
          sum += from[i] * static_cast<double>(widen(w[m * fan_in * taps + i]));
        }
        y[(n * p.m + m) * places + o] = convert<T>(sum);
      }
      next_index(place, {p.out.begin(), p.out.end()});
    }
  }
}

}  // namespace

void DeformConv::visit(ParamVisitor& v) const {
  v.param("strides", strides);
  v.param("dilations", dilations);
  v.param("before", before);
  v.param("after", after);
  v.param("group", group);
  v.param("offset_group", offset_group);
}

std::vector<Fact> DeformConv::infer(InputFacts in) const {
  check(in.size() >= 3, ErrorKind::Shape, "{} inputs, expected at least 3", in.size());
  const Fact &x = need(in, 0), &w = need(in, 1), &offset = need(in, 2);
  check(is_float(x.dtype), ErrorKind::Type, "input 0 'x' has dtype {}, expected a float",
        name_of(x.dtype));
  const int axes = x.rank() - 2;
  check(axes >= 1 && axes <= kMaxSpatial, ErrorKind::Shape,
        "input 0 'x' has shape {}, expected 1 to {} spatial axes", str(x.shape), kMaxSpatial);
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (const Fact* f = maybe(in, i)) {
      need_dtype(*f, x.dtype, i);
      need_rank(*f, i == 3 ? 1 : x.rank(), i);
    }
  }
  check_spatial(strides, axes, 1, "strides");
  check_spatial(dilations, axes, 1, "dilations");
  check_spatial(before, axes, 0, "pads");
  check_spatial(after, axes, 0, "pads");
  check(group >= 1 && offset_group >= 1, ErrorKind::Shape, "group={} offset_group={}", group,
        offset_group);
  const std::vector<std::int64_t> kernel = kernel_sizes(w.shape, {});
  const Dim &channels = x.shape[1], &out_channels = w.shape[0];
  agree(channels, w.shape[1] * group, "channels of x and of the weight");
  for (const Dim& c : {channels, out_channels}) {
    check(!c.is_const() || c.value() % group == 0, ErrorKind::Shape, "{} channels in {} groups",
          c.str(), group);
  }
  check(!channels.is_const() || channels.value() % offset_group == 0, ErrorKind::Shape,
        "{} channels in {} offset groups", channels.str(), offset_group);
  SymShape out{x.shape[0], out_channels};
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    out.push_back(agree(window(x.shape[d + 2], kernel[d], strides[d], dilations[d],
                               AutoPad::Explicit, before[d], after[d])
                            .out,
                        offset.shape[d + 2], "sizes of output and offset"));
  }
  const std::int64_t rows = checked_mul(offset_group, product(kernel));
  agree(offset.shape[0], x.shape[0], "batches of x and offset");
  agree(offset.shape[1], checked_mul(rows, axes), "offset's channels");
  if (const Fact* bias = maybe(in, 3)) agree(bias->shape[0], out_channels, "bias and channels");
  if (const Fact* mask = maybe(in, 4)) {
    agree(mask->shape[0], x.shape[0], "batches of x and mask");
    agree(mask->shape[1], rows, "mask's channels");
    for (std::size_t d = 2; d < out.size(); ++d) agree(mask->shape[d], out[d], "sizes of the mask");
  }
  return {Fact::tensor(x.dtype, std::move(out))};
}

void DeformConv::eval(EvalContext& ctx) const {
  recheck(*this, ctx);
  const auto spatial = [](const TensorView& v) {
    return std::span(v.shape.begin() + 2, v.shape.end());
  };
  const TensorView& y = ctx.output(0);
  const Problem p{spatial(ctx.in(0)), spatial(ctx.in(1)), spatial(y),
                  y.shape[0],         ctx.in(0).shape[1], y.shape[1]};
  dispatch(y.dtype, [&]<typename T>(T) {
    if constexpr (is_real_v<T>) run<T>(*this, p, ctx);
  });
}

Cost DeformConv::cost(InputFacts in, std::span<const Fact> out) const {
  Dim taps = in[1]->shape[1];
  for (const std::int64_t k : kernel_sizes(in[1]->shape, {})) taps = taps * k;
  return {elements(out[0].shape) * taps * 2};
}

}  // namespace treadle::ops
