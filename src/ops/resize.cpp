#include "ops/resize.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/numeric.hpp"
#include "ops/resize_taps.hpp"

namespace treadle::ops {
namespace {

ResizeAxis axis_of(const Resize& op, std::size_t d, std::int64_t in, std::int64_t out) {
  ResizeAxis a{in, out, 1, 0, 1};
  if (!op.scales.empty()) {
    a.scale = static_cast<float>(op.scales[d]);
  } else if (in > 0) {
    a.scale = static_cast<float>(out) / static_cast<float>(in);
  }
  if (!op.roi.empty()) {
    a.roi_start = static_cast<float>(op.roi[d]);
    a.roi_end = static_cast<float>(op.roi[d + op.roi.size() / 2]);
  }
  return a;
}

// An unchanged axis is copied whatever the rounding, so that a batch keeps its elements.
bool is_identity(const Resize& op, const ResizeAxis& a) {
  return a.in == a.out && a.scale == 1.0f && op.coordinates != Coordinates::TfCropAndResize;
}

void eval_nearest(const Resize& op, const TensorView& x, TensorView& y) {
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  std::vector<std::vector<Taps>> taps;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const ResizeAxis a = axis_of(op, d, x.shape[d], y.shape[d]);
    if (!is_identity(op, a)) {
      taps.push_back(resize_taps(op, a));
      continue;
    }
    taps.emplace_back();
    for (std::int64_t i = 0; i < a.out; ++i) taps.back().push_back({{{i, 1}}, false});
  }
  std::int64_t to = 0;
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  for_each_index(y.shape, [&](const std::vector<std::int64_t>& at) {
    std::int64_t from = 0;
    bool outside = false;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Taps& t = taps[d][static_cast<std::size_t>(at[d])];
      outside = outside || t.outside;
      if (!t.outside) from += t.taps[0].at * strides[d];
    }
    if (!outside) {
      copy_run(x.dtype, y.data, to, x.data, from, 1);
    } else {
      TensorView one{x.dtype, Shape{}, static_cast<char*>(y.data) + to * size};
      write_doubles(one, {op.extrapolation});
    }
    ++to;
  });
}

// Replaces axis d of `values`, whose shape is `shape`, by its resized form.
void resize_axis(const Resize& op, const std::vector<Taps>& taps, std::size_t d, Shape& shape,
                 std::vector<double>& values) {
  const AxisView v = axis_view(shape, static_cast<std::int64_t>(d));
  const auto out = static_cast<std::int64_t>(taps.size());
  shape[d] = out;
  std::vector<double> result(static_cast<std::size_t>(shape.elements()), 0.0);
  for (std::int64_t o = 0; o < v.outer; ++o) {
    for (std::int64_t i = 0; i < out; ++i) {
      const Taps& t = taps[static_cast<std::size_t>(i)];
      double* to = result.data() + (o * out + i) * v.inner;
      for (std::int64_t k = 0; t.outside && k < v.inner; ++k) to[k] = op.extrapolation;
      for (const Tap& tap : t.taps) {
        const double* from = values.data() + (o * v.size + tap.at) * v.inner;
        for (std::int64_t k = 0; k < v.inner; ++k) to[k] += tap.weight * from[k];
      }
    }
  }
  values = std::move(result);
}

const char* name_of(ResizeMode m) {
  return m == ResizeMode::Nearest ? "nearest" : m == ResizeMode::Linear ? "linear" : "cubic";
}

const char* name_of(Coordinates c) {
  switch (c) {
    case Coordinates::HalfPixel:
      return "half_pixel";
    case Coordinates::HalfPixelSymmetric:
      return "half_pixel_symmetric";
    case Coordinates::PytorchHalfPixel:
      return "pytorch_half_pixel";
    case Coordinates::AlignCorners:
      return "align_corners";
    case Coordinates::Asymmetric:
      return "asymmetric";
    case Coordinates::TfHalfPixelForNn:
      return "tf_half_pixel_for_nn";
    case Coordinates::TfCropAndResize:
      return "tf_crop_and_resize";
  }
  return "?";
}

const char* name_of(NearestRound r) {
  switch (r) {
    case NearestRound::RoundPreferFloor:
      return "round_prefer_floor";
    case NearestRound::RoundPreferCeil:
      return "round_prefer_ceil";
    case NearestRound::Floor:
      return "floor";
    case NearestRound::Ceil:
      return "ceil";
  }
  return "?";
}

}  // namespace

void Resize::visit(ParamVisitor& v) const {
  v.param("mode", name_of(mode));
  v.param("coordinates", name_of(coordinates));
  v.param("nearest", name_of(nearest));
  v.param("sizes", sizes);
  v.param("scales", scales);
  v.param("roi", roi);
  v.param("cubic_a", cubic_a);
  v.param("exclude_outside", exclude_outside);
  v.param("antialias", antialias);
  v.param("extrapolation", extrapolation);
}

std::vector<Fact> Resize::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const std::size_t rank = x.shape.size();
  check(sizes.size() == rank, ErrorKind::Shape, "{} sizes for input {}", sizes.size(), x.str());
  check(scales.empty() || scales.size() == rank, ErrorKind::Shape, "{} scales for input {}",
        scales.size(), x.str());
  check(roi.empty() ? coordinates != Coordinates::TfCropAndResize : roi.size() == 2 * rank,
        ErrorKind::Shape, "{} roi values for input {}", roi.size(), x.str());
  const bool numeric = x.dtype != DType::String && !is_complex(x.dtype);
  check(numeric || (mode == ResizeMode::Nearest && coordinates != Coordinates::TfCropAndResize),
        ErrorKind::Type, "mode {} does not apply to {}", name_of(mode), x.str());
  return {Fact::tensor(x.dtype, sizes)};
}

void Resize::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const Shape to = shape_of(ctx, sizes);
  check(to.rank() == x.shape.rank(), ErrorKind::Shape, "{} cannot become {}", x.shape.str(),
        to.str());
  write_output(ctx, 0, x.dtype, to, [&](TensorView& y) {
    if (mode == ResizeMode::Nearest) {
      eval_nearest(*this, x, y);
      return;
    }
    std::vector<double> values = read_doubles(x);
    Shape shape = x.shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const ResizeAxis a = axis_of(*this, d, shape[d], to[d]);
      if (is_identity(*this, a)) continue;
      resize_axis(*this, resize_taps(*this, a), d, shape, values);
    }
    write_doubles(y, values);
  });
}

std::optional<AxisChange> Resize::change_axes(InputFacts, std::span<const Fact>,
                                              const Perm& perm) const {
  auto op = std::make_shared<Resize>(*this);
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const auto p = static_cast<std::size_t>(perm[i]);
    op->sizes[i] = sizes[p];
    if (!scales.empty()) op->scales[i] = scales[p];
    if (!roi.empty()) {
      op->roi[i] = roi[p];
      op->roi[i + perm.size()] = roi[p + perm.size()];
    }
  }
  return AxisChange{std::move(op), {perm}};
}

}  // namespace treadle::ops
