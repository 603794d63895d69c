#include "ops/max_roi_pool.hpp"

#include <algorithm>
#include <cmath>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/numeric.hpp"

namespace treadle::ops {
namespace {

// Cells of the image along one axis: from `begin` to before `end`.
struct Span {
  std::int64_t begin = 0, end = 0;
};

// What cell i of `out` takes of the box from one corner to the other.
Span span_of(double from, double to, double scale, std::int64_t i, std::int64_t out,
             std::int64_t size) {
  const auto corner = [&](double v) {
    return std::round(static_cast<float>(v) * static_cast<float>(scale));
  };
  const float first = corner(from), last = corner(to);
  check(std::isfinite(first) && std::isfinite(last) && std::isfinite(last - first),
        ErrorKind::Shape, "box from {} to {} is not finite", from, to);
  const float bin = std::max(last - first + 1, 1.0f) / static_cast<float>(out);
  const auto inside = [&](float v) {
    return static_cast<std::int64_t>(std::clamp(v + first, 0.0f, static_cast<float>(size)));
  };
  return {inside(std::floor(static_cast<float>(i) * bin)),
          inside(std::ceil(static_cast<float>(i + 1) * bin))};
}

double largest(const double* plane, std::int64_t width, Span rows, Span columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return 0;
  double best = plane[rows.begin * width + columns.begin];
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    for (std::int64_t c = columns.begin; c < columns.end; ++c) {
      const double v = plane[r * width + c];
      if (std::isnan(v)) return v;
      best = std::max(best, v);
    }
  }
  return best;
}

}  // namespace

void MaxRoiPool::visit(ParamVisitor& v) const {
  v.param("out_h", out_h);
  v.param("out_w", out_w);
  v.param("scale", scale);
}

std::vector<Fact> MaxRoiPool::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& rois = need(in, 1);
  need_rank(x, 4, 0);
  need_rank(rois, 2, 1);
  check(is_float(x.dtype), ErrorKind::Type, "input must hold floats, got {}", x.str());
  need_dtype(rois, x.dtype, 1);
  check(!rois.shape[1].is_const() || rois.shape[1].is(5), ErrorKind::Shape,
        "boxes must be [count, 5], got {}", rois.str());
  check(out_h > 0 && out_w > 0, ErrorKind::Shape, "output {}x{}", out_h, out_w);
  return {Fact::tensor(x.dtype, {rois.shape[0], x.shape[1], out_h, out_w})};
}

void MaxRoiPool::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  check(ctx.in(1).shape[1] == 5, ErrorKind::Shape, "boxes {}, expected [count, 5]",
        ctx.in(1).shape.str());
  const std::int64_t count = ctx.in(1).shape[0], channels = x.shape[1];
  const std::int64_t height = x.shape[2], width = x.shape[3];
  const auto from = read_doubles(x), boxes = read_doubles(ctx.in(1));
  const Shape shape{count, channels, out_h, out_w};
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t r = 0; r < count; ++r) {
    const double* box = boxes.data() + r * 5;
    check(box[0] >= 0 && box[0] < static_cast<double>(x.shape[0]), ErrorKind::Shape,
          "batch index {} is outside [0, {})", box[0], x.shape[0]);
    const auto n = static_cast<std::int64_t>(box[0]);
    for (std::int64_t c = 0; c < channels; ++c) {
      const double* plane = from.data() + (n * channels + c) * height * width;
      for (std::int64_t i = 0; i < out_h; ++i) {
        const Span rows = span_of(box[2], box[4], scale, i, out_h, height);
        for (std::int64_t j = 0; j < out_w; ++j) {
          const Span columns = span_of(box[1], box[3], scale, j, out_w, width);
          values.push_back(largest(plane, width, rows, columns));
        }
      }
    }
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) { write_doubles(y, values); });
}

}  // namespace treadle::ops
