#include "ops/crop_and_resize.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "ops/checks.hpp"

namespace treadle::ops {
namespace {

// Where a sample falls on an axis of `size` pixels.
struct Tap {
  bool inside = false;
  std::int64_t low = 0, high = 0;
  float fraction = 0;
};

std::vector<Tap> taps(float from, float to, std::int64_t size, std::int64_t count, bool nearest) {
  const auto last = static_cast<float>(size - 1);
  const float scale = count > 1 ? (to - from) * last / static_cast<float>(count - 1) : 0;
  std::vector<Tap> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const float at =
        count > 1 ? from * last + static_cast<float>(i) * scale : 0.5f * (from + to) * last;
    // A NaN is outside.
    if (!(at >= 0 && at <= last)) continue;
    Tap& t = out[static_cast<std::size_t>(i)];
    t.inside = true;
    t.low = static_cast<std::int64_t>(nearest ? std::round(at) : std::floor(at));
    t.high = nearest ? t.low : static_cast<std::int64_t>(std::ceil(at));
    t.fraction = nearest ? 0 : at - std::floor(at);
  }
  return out;
}

}  // namespace

void CropAndResize::visit(ParamVisitor& v) const {
  v.param("height", height);
  v.param("width", width);
  v.param("nearest", nearest);
  v.param("extrapolation", extrapolation);
}

std::vector<Fact> CropAndResize::infer(InputFacts in) const {
  need_inputs(in, 3);
  const Fact &x = need(in, 0), &boxes = need(in, 1), &image = need(in, 2);
  need_dtype(x, DType::F32, 0);
  need_rank(x, 4, 0);
  need_dtype(boxes, DType::F32, 1);
  need_rank(boxes, 2, 1);
  need_integer(image, 2);
  need_rank(image, 1, 2);
  agree(boxes.shape[1], Dim(4), "coordinates of a box");
  for (const Dim& d : {height, width})
    check(!d.is_const() || d.value() > 0, ErrorKind::Shape, "the crops have a size {}", d.str());
  return {Fact::tensor(DType::F32, {agree(boxes.shape[0], image.shape[0], "boxes and their images"),
                                    height, width, x.shape[3]})};
}

void CropAndResize::eval(EvalContext& ctx) const {
  const TensorView &x = ctx.in(0), &y = ctx.output(0);
  if (y.elements() == 0) return;
  const auto images = read_ints(ctx.in(2));
  const float* boxes = ctx.in(1).as<float>();
  const std::int64_t h = x.shape[1], w = x.shape[2], channels = x.shape[3];
  float* out = y.as<float>();
  for (std::int64_t b = 0; b < y.shape[0]; ++b) {
    const std::int64_t n = images[static_cast<std::size_t>(b)];
    check(n >= 0 && n < x.shape[0], ErrorKind::Shape, "box {} is of image {}, there are {}", b, n,
          x.shape[0]);
    const float* box = boxes + 4 * b;
    const auto rows = taps(box[0], box[2], h, y.shape[1], nearest);
    const auto columns = taps(box[1], box[3], w, y.shape[2], nearest);
    for (const Tap& r : rows) {
      for (const Tap& k : columns) {
        const auto pixel = [&](std::int64_t i, std::int64_t j, std::int64_t ch) {
          return x.as<float>()[((n * h + i) * w + j) * channels + ch];
        };
        for (std::int64_t ch = 0; ch < channels; ++ch) {
          if (!r.inside || !k.inside) {
            *out++ = static_cast<float>(extrapolation);
            continue;
          }
          const auto along = [&](std::int64_t i) {
            const float a = pixel(i, k.low, ch);
            return a + (pixel(i, k.high, ch) - a) * k.fraction;
          };
          const float top = along(r.low);
          *out++ = top + (along(r.high) - top) * r.fraction;
        }
      }
    }
  }
}

}  // namespace treadle::ops
