#include "ops/resize_taps.hpp"

#include <algorithm>
#include <cmath>

namespace treadle::ops {
namespace {

float coordinate(const Resize& op, const ResizeAxis& a, std::int64_t position) {
  const float x = static_cast<float>(position);
  const float in = static_cast<float>(a.in);
  const float out = static_cast<float>(a.out);
  switch (op.coordinates) {
    case Coordinates::HalfPixel:
      return (x + 0.5f) / a.scale - 0.5f;
    case Coordinates::HalfPixelSymmetric: {
      const float adjustment = out / (a.scale * in);
      const float offset = in / 2 * (1 - adjustment);
      return offset + (x + 0.5f) / a.scale - 0.5f;
    }
    case Coordinates::PytorchHalfPixel:
      return a.out > 1 ? (x + 0.5f) / a.scale - 0.5f : 0.0f;
    case Coordinates::AlignCorners:
      return a.out == 1 ? 0.0f : x * (in - 1) / (out - 1);
    case Coordinates::Asymmetric:
      return x / a.scale;
    case Coordinates::TfHalfPixelForNn:
      return (x + 0.5f) / a.scale;
    case Coordinates::TfCropAndResize:
      return a.out > 1
                 ? a.roi_start * (in - 1) + x * (a.roi_end - a.roi_start) * (in - 1) / (out - 1)
                 : 0.5f * (a.roi_start + a.roi_end) * (in - 1);
  }
  return x;
}

double nearest(NearestRound mode, float x) {
  const double v = static_cast<double>(x);
  switch (mode) {
    case NearestRound::RoundPreferFloor:
      return std::ceil(v - 0.5);
    case NearestRound::RoundPreferCeil:
      return std::floor(v + 0.5);
    case NearestRound::Floor:
      return std::floor(v);
    case NearestRound::Ceil:
      return std::ceil(v);
  }
  return v;
}

double triangle(double x) {
  return std::max(0.0, 1 - std::fabs(x));
}

// Keys' cubic convolution with parameter a.
double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return a * (((x - 5) * x + 8) * x - 4);
  return 0;
}

Taps weighted(const Resize& op, const ResizeAxis& a, double x) {
  const double scale = op.antialias ? std::min(1.0, static_cast<double>(a.scale)) : 1.0;
  const bool linear = op.mode == ResizeMode::Linear;
  const double reach = linear ? 1 : 2;
  const double base = std::floor(x);
  const auto first = static_cast<std::int64_t>(base + std::floor(-reach / scale) + 1);
  const auto last = static_cast<std::int64_t>(base + std::ceil(reach / scale));
  Taps out;
  double sum = 0;
  for (std::int64_t i = first; i <= last; ++i) {
    const double d = (static_cast<double>(i) - x) * scale;
    const double w = linear ? triangle(d) : cubic(d, op.cubic_a);
    if (w == 0 || (op.exclude_outside && (i < 0 || i >= a.in))) continue;
    sum += w;
    out.taps.push_back({std::clamp<std::int64_t>(i, 0, a.in - 1), w});
  }
  if (sum != 0) {
    for (Tap& t : out.taps) t.weight /= sum;
  }
  return out;
}

}  // namespace

std::vector<Taps> resize_taps(const Resize& op, const ResizeAxis& a) {
  std::vector<Taps> out(static_cast<std::size_t>(a.out));
  if (a.out == 0) return out;
  check(a.in > 0, ErrorKind::Shape, "cannot make {} positions from an empty axis", a.out);
  const double least = 0.25 / static_cast<double>(a.in);
  check(std::isfinite(a.scale) && static_cast<double>(a.scale) >= least, ErrorKind::Shape,
        "scale {} is too small for an axis of size {}", a.scale, a.in);
  const double limit = static_cast<double>(a.in) - 1;
  for (std::int64_t i = 0; i < a.out; ++i) {
    Taps& t = out[static_cast<std::size_t>(i)];
    const float raw = coordinate(op, a, i);
    check(!std::isnan(raw), ErrorKind::Shape, "coordinate {} is not a number", i);
    if (op.coordinates == Coordinates::TfCropAndResize) {
      t.outside = static_cast<double>(raw) < 0 || static_cast<double>(raw) > limit;
    }
    if (t.outside) continue;
    if (op.mode == ResizeMode::Nearest) {
      const double at = std::clamp(nearest(op.nearest, raw), 0.0, limit);
      t.taps.push_back({static_cast<std::int64_t>(at), 1});
    } else {
      const double x = std::clamp(static_cast<double>(raw), -limit - 4, 2 * limit + 4);
      t = weighted(op, a, x);
    }
  }
  return out;
}

}  // namespace treadle::ops
