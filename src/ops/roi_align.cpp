#include "ops/roi_align.hpp"

#include <algorithm>
#include <cmath>

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/numeric.hpp"

namespace treadle::ops {
namespace {

// Samples a box may need along one axis of an output cell.
constexpr double kMaxSamples = 4096;

struct Axis {
  double start, bin;
  std::int64_t samples;
};

// One bilinear sample along one axis: two positions and their weights; weight 0 when outside.
struct Sample {
  std::int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;
};

Sample sample(double v, std::int64_t size) {
  Sample s;
  if (!(v >= -1) || v > static_cast<double>(size)) return s;
  v = std::max(v, 0.0);
  s.low = std::min(static_cast<std::int64_t>(v), size - 1);
  s.high = std::min(s.low + 1, size - 1);
  s.high_weight = s.low >= size - 1 ? 0 : v - static_cast<double>(s.low);
  s.low_weight = 1 - s.high_weight;
  return s;
}

Axis axis_of(const RoiAlign& op, double from, double to, std::int64_t out) {
  const double offset = op.half_pixel ? 0.5 : 0;
  const double start = from * op.scale - offset;
  double size = to * op.scale - offset - start;
  check(std::isfinite(start) && std::isfinite(size), ErrorKind::Shape,
        "box from {} to {} is not finite", from, to);
  if (!op.half_pixel) size = std::max(size, 1.0);
  const double bin = size / static_cast<double>(out);
  const double samples = op.ratio > 0 ? static_cast<double>(op.ratio) : std::ceil(bin);
  check(samples <= kMaxSamples, ErrorKind::Shape,
        "box from {} to {} needs {} samples a cell, at most {} are taken", from, to, samples,
        kMaxSamples);
  return {start, bin, static_cast<std::int64_t>(std::max(samples, 0.0))};
}

std::vector<Sample> samples_of(const Axis& a, std::int64_t cell, std::int64_t size) {
  std::vector<Sample> out;
  for (std::int64_t i = 0; i < a.samples; ++i) {
    const double at = a.start + static_cast<double>(cell) * a.bin +
                      (static_cast<double>(i) + 0.5) * a.bin / static_cast<double>(a.samples);
    out.push_back(sample(at, size));
  }
  return out;
}

double pool(const RoiAlign& op, const double* x, std::int64_t width,
            const std::vector<Sample>& rows, const std::vector<Sample>& columns) {
  double sum = 0;
  double best = 0;
  bool first = true;
  for (const Sample& r : rows) {
    for (const Sample& c : columns) {
      const double corners[] = {r.low_weight * c.low_weight * x[r.low * width + c.low],
                                r.low_weight * c.high_weight * x[r.low * width + c.high],
                                r.high_weight * c.low_weight * x[r.high * width + c.low],
                                r.high_weight * c.high_weight * x[r.high * width + c.high]};
      sum += corners[0] + corners[1] + corners[2] + corners[3];
      const double top = *std::max_element(corners, corners + 4);
      best = first ? top : std::max(best, top);
      first = false;
    }
  }
  if (op.max) return best;
  const std::size_t count = rows.size() * columns.size();
  return sum / static_cast<double>(std::max<std::size_t>(count, 1));
}

}  // namespace

void RoiAlign::visit(ParamVisitor& v) const {
  v.param("out_h", out_h);
  v.param("out_w", out_w);
  v.param("ratio", ratio);
  v.param("scale", scale);
  v.param("half_pixel", half_pixel);
  v.param("max", max);
}

std::vector<Fact> RoiAlign::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& rois = need(in, 1);
  const Fact& batch = need(in, 2);
  need_rank(x, 4, 0);
  need_rank(rois, 2, 1);
  need_rank(batch, 1, 2);
  need_integer(batch, 2);
  check(is_float(x.dtype), ErrorKind::Type, "input must hold floats, got {}", x.str());
  need_dtype(rois, x.dtype, 1);
  check(!rois.shape[1].is_const() || rois.shape[1].is(4), ErrorKind::Shape,
        "boxes must be [count, 4], got {}", rois.str());
  check(out_h > 0 && out_w > 0 && ratio >= 0, ErrorKind::Shape,
        "output {}x{} with sampling ratio {}", out_h, out_w, ratio);
  const Dim count = agree(rois.shape[0], batch.shape[0], "numbers of boxes and indices");
  return {Fact::tensor(x.dtype, {count, x.shape[1], out_h, out_w})};
}

void RoiAlign::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const std::int64_t count = ctx.in(1).shape[0];
  const std::int64_t height = x.shape[2];
  const std::int64_t width = x.shape[3];
  check(ctx.in(1).shape[1] == 4 && ctx.in(2).elements() == count, ErrorKind::Shape,
        "boxes {} and {} indices", ctx.in(1).shape.str(), ctx.in(2).elements());
  check(count == 0 || (height > 0 && width > 0), ErrorKind::Shape, "input {} is empty",
        x.shape.str());
  const auto from = read_doubles(x);
  const auto boxes = read_doubles(ctx.in(1));
  const auto batch = read_ints(ctx.in(2));
  const Shape shape{count, x.shape[1], out_h, out_w};
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t n = batch[static_cast<std::size_t>(r)];
    check(n >= 0 && n < x.shape[0], ErrorKind::Shape, "batch index {} is outside [0, {})", n,
          x.shape[0]);
    const double* box = boxes.data() + r * 4;
    const Axis h = axis_of(*this, box[1], box[3], out_h);
    const Axis w = axis_of(*this, box[0], box[2], out_w);
    for (std::int64_t i = 0; i < out_h; ++i) {
      const auto rows = samples_of(h, i, height);
      for (std::int64_t j = 0; j < out_w; ++j) {
        const auto columns = samples_of(w, j, width);
        for (std::int64_t c = 0; c < x.shape[1]; ++c) {
          const double* plane = from.data() + (n * x.shape[1] + c) * height * width;
          const std::int64_t to = ((r * x.shape[1] + c) * out_h + i) * out_w + j;
          values[static_cast<std::size_t>(to)] = pool(*this, plane, width, rows, columns);
        }
      }
    }
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) { write_doubles(y, values); });
}

}  // namespace treadle::ops
