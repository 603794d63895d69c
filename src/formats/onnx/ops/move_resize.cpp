// Resize and Upsample.
#include <algorithm>
#include <cmath>

#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/resize.hpp"

namespace treadle::onnx {
namespace {

using ops::Coordinates;
using ops::NearestRound;
using ops::ResizeMode;

template <typename T, std::size_t N>
T choice(NodeContext& c, std::string_view attr, const char* fallback,
         const std::pair<std::string_view, T> (&names)[N]) {
  const std::string given = c.string_attr(attr, fallback);
  for (const auto& [name, value] : names) {
    if (name == given) return value;
  }
  fail(ErrorKind::Parse, "attribute '{}' has the unknown value '{}'", attr, given);
}

ResizeMode mode_attr(NodeContext& c) {
  return choice<ResizeMode>(c, "mode", "nearest",
                            {{"nearest", ResizeMode::Nearest},
                             {"linear", ResizeMode::Linear},
                             {"bilinear", ResizeMode::Linear},
                             {"cubic", ResizeMode::Cubic}});
}

// The parameters of opset 11 and later; sizes and scales are left open.
ops::Resize parameters(NodeContext& c) {
  ops::Resize r;
  r.mode = mode_attr(c);
  r.coordinates = choice<Coordinates>(c, "coordinate_transformation_mode", "half_pixel",
                                      {{"half_pixel", Coordinates::HalfPixel},
                                       {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
                                       {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
                                       {"align_corners", Coordinates::AlignCorners},
                                       {"asymmetric", Coordinates::Asymmetric},
                                       {"tf_half_pixel_for_nn", Coordinates::TfHalfPixelForNn},
                                       {"tf_crop_and_resize", Coordinates::TfCropAndResize}});
  r.nearest = choice<NearestRound>(c, "nearest_mode", "round_prefer_floor",
                                   {{"round_prefer_floor", NearestRound::RoundPreferFloor},
                                    {"round_prefer_ceil", NearestRound::RoundPreferCeil},
                                    {"floor", NearestRound::Floor},
                                    {"ceil", NearestRound::Ceil}});
  r.cubic_a = c.float_attr("cubic_coeff_a", -0.75);
  r.exclude_outside = c.int_attr("exclude_outside", 0) != 0;
  r.antialias = c.int_attr("antialias", 0) != 0;
  r.extrapolation = c.float_attr("extrapolation_value", 0.0);
  return r;
}

// size · scale rounded down, when the scale is a whole number or a fraction of small ones.
std::optional<Dim> scaled(const Dim& size, double scale) {
  if (size.is_const()) return Dim(ops::scaled_size(size.value(), scale));
  check(scale > 0 && scale < 1e9, ErrorKind::Shape, "a scale is {}", scale);
  for (std::int64_t q = 1; q <= 64; ++q) {
    const double p = std::round(scale * static_cast<double>(q));
    if (p < 1 || std::fabs(p / static_cast<double>(q) - scale) > 1e-6 * scale) continue;
    const Dim product = size * static_cast<std::int64_t>(p);
    return q == 1 ? product : floor_div(product, q);
  }
  return std::nullopt;
}

std::vector<std::int64_t> axes_of(NodeContext& c) {
  const int rank = c.fact(0).rank();
  std::vector<std::int64_t> axes;
  if (const auto given = c.ints_attr("axes")) {
    for (const std::int64_t a : *given) axes.push_back(ops::normal_axis(a, rank));
    ops::normal_axes(axes, rank);
    return axes;
  }
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

bool given(NodeContext& c, std::size_t i) {
  return c.has(i) && !(c.fact(i).rank() == 1 && c.fact(i).shape[0].is(0));
}

void set_roi(NodeContext& c, ops::Resize& r, const std::vector<std::int64_t>& axes) {
  if (r.coordinates != Coordinates::TfCropAndResize) return;
  const auto roi = c.required_constant(1).to_f64();
  check(roi.size() == 2 * axes.size(), ErrorKind::Shape, "input 1 'roi' has {} values for {} axes",
        roi.size(), axes.size());
  const auto rank = static_cast<std::size_t>(c.fact(0).rank());
  r.roi.assign(rank, 0.0);
  r.roi.resize(2 * rank, 1.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    r.roi[static_cast<std::size_t>(axes[i])] = roi[i];
    r.roi[rank + static_cast<std::size_t>(axes[i])] = roi[axes.size() + i];
  }
}

// One scale for all axes, the smallest (largest) that any asks for; sizes rounded half up.
void keep_aspect(NodeContext& c, ops::Resize& r, const std::vector<std::int64_t>& axes,
                 bool not_larger) {
  double best = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    const Dim& from = c.fact(0).shape[a];
    check(from.is_const() && r.sizes[a].is_const(), ErrorKind::Unsupported,
          "keep_aspect_ratio_policy needs sizes that are known at import, got {} and {}",
          from.str(), r.sizes[a].str());
    check(from.value() > 0, ErrorKind::Shape, "axis {} of the input is empty", a);
    const double scale =
        static_cast<double>(r.sizes[a].value()) / static_cast<double>(from.value());
    best = i == 0 ? scale : not_larger ? std::min(best, scale) : std::max(best, scale);
  }
  r.scales.assign(r.sizes.size(), 1.0);
  for (const std::int64_t axis : axes) {
    const auto a = static_cast<std::size_t>(axis);
    const double size = std::floor(best * static_cast<double>(c.fact(0).shape[a].value()) + 0.5);
    check(size >= 0 && size < 1e15, ErrorKind::Shape, "axis {} would have size {}", a, size);
    r.sizes[a] = static_cast<std::int64_t>(size);
    r.scales[a] = best;
  }
}

ValueId dynamic(NodeContext& c, ops::Resize r, const std::vector<std::int64_t>& axes, ValueId sizes,
                ValueId scales) {
  check(!c.has_attr("axes") || axes.size() == r.sizes.size(), ErrorKind::Unsupported,
        "sizes and scales must be constants together with 'axes'");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    check(axes[i] == static_cast<std::int64_t>(i), ErrorKind::Unsupported,
          "sizes and scales must be constants together with permuted 'axes'");
  }
  r.sizes = fresh_sizes(c, "resized", axes.size());
  std::vector<ValueId> inputs{c.in(0), sizes};
  if (scales.present()) inputs.push_back(scales);
  return c.add1(make_op<ops::DynamicResize>(std::move(r)), std::move(inputs));
}

ValueId by_scales(NodeContext& c, ops::Resize r, const std::vector<std::int64_t>& axes,
                  std::size_t input) {
  if (!c.constant(input)) return dynamic(c, std::move(r), axes, {}, c.in(input));
  const auto scales = c.required_constant(input).to_f64();
  check(scales.size() == axes.size(), ErrorKind::Shape,
        "input {} 'scales' has {} values for {} axes", input, scales.size(), axes.size());
  r.sizes = c.fact(0).shape;
  r.scales.assign(r.sizes.size(), 1.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    const auto size = scaled(r.sizes[a], scales[i]);
    if (!size) return dynamic(c, std::move(r), axes, {}, c.in(input));
    r.sizes[a] = *size;
    r.scales[a] = scales[i];
  }
  return c.add1(std::make_shared<const ops::Resize>(std::move(r)), {c.in(0)});
}

ValueId by_sizes(NodeContext& c, ops::Resize r, const std::vector<std::int64_t>& axes) {
  const auto sizes = c.symbolic(3);
  const std::string policy = c.string_attr("keep_aspect_ratio_policy", "stretch");
  if (!sizes || !known_before(c, *sizes, &c.fact(0))) {
    check(policy == "stretch", ErrorKind::Unsupported,
          "input 3 'sizes' must be a constant with keep_aspect_ratio_policy '{}'", policy);
    return dynamic(c, std::move(r), axes, c.in(3), {});
  }
  check(sizes->size() == axes.size(), ErrorKind::Shape, "input 3 'sizes' has {} values for {} axes",
        sizes->size(), axes.size());
  r.sizes = c.fact(0).shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    r.sizes[static_cast<std::size_t>(axes[i])] = (*sizes)[i];
  }
  if (policy != "stretch") {
    check(policy == "not_larger" || policy == "not_smaller", ErrorKind::Parse,
          "attribute 'keep_aspect_ratio_policy' is '{}'", policy);
    keep_aspect(c, r, axes, policy == "not_larger");
  }
  return c.add1(std::make_shared<const ops::Resize>(std::move(r)), {c.in(0)});
}

// Upsample and Resize before opset 11: asymmetric coordinates, nearest rounds down (up when every
// changed axis shrinks, as ONNX Runtime does).
ops::Resize old_parameters(NodeContext& c, const std::optional<std::vector<double>>& scales) {
  ops::Resize r;
  r.mode = mode_attr(c);
  r.coordinates = Coordinates::Asymmetric;
  const bool shrinks =
      scales && std::all_of(scales->begin(), scales->end(), [](double s) { return s <= 1; });
  r.nearest = shrinks ? NearestRound::Ceil : NearestRound::Floor;
  return r;
}

}  // namespace

std::vector<ValueId> import_resize(NodeContext& c) {
  const auto axes = axes_of(c);
  if (c.opset() < 11) {
    const auto scales = c.constant(1);
    const auto values = scales ? std::optional(scales->to_f64()) : std::nullopt;
    return {by_scales(c, old_parameters(c, values), axes, 1)};
  }
  ops::Resize r = parameters(c);
  set_roi(c, r, axes);
  const bool has_scales = given(c, 2);
  check(has_scales != given(c, 3), ErrorKind::Parse,
        "exactly one of input 2 'scales' and input 3 'sizes' must be given");
  return {has_scales ? by_scales(c, std::move(r), axes, 2) : by_sizes(c, std::move(r), axes)};
}

std::vector<ValueId> import_upsample(NodeContext& c) {
  const auto axes = axes_of(c);
  if (c.opset() >= 9) return {by_scales(c, old_parameters(c, std::nullopt), axes, 1)};
  ops::Resize r = old_parameters(c, std::nullopt);
  if (const auto scales = c.floats_attr("scales")) {
    r.scales = *scales;
  } else {
    r.scales = {1, 1, c.float_attr("height_scale", {}), c.float_attr("width_scale", {})};
  }
  const SymShape from = c.fact(0).shape;
  check(r.scales.size() == from.size(), ErrorKind::Shape, "{} scales for rank {}", r.scales.size(),
        from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto size = scaled(from[i], r.scales[i]);
    check(size.has_value(), ErrorKind::Unsupported, "scale {} of axis {} of symbolic size {}",
          r.scales[i], i, from[i].str());
    r.sizes.push_back(*size);
  }
  return {c.add1(std::make_shared<const ops::Resize>(std::move(r)), {c.in(0)})};
}

}  // namespace treadle::onnx
