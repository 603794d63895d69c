// Resize and Upsample.
#include <algorithm>
#include <cmath>

#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/dynamic_resize.hpp"

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

// Whether the region is read, but known only at run time.
bool computed_region(NodeContext& c, const ops::Resize& r) {
  return r.coordinates == Coordinates::TfCropAndResize && c.fact(1).value == nullptr;
}

// Sizes, scales or region that only the run knows; `sizes` and `scales` may be absent.
ValueId dynamic(NodeContext& c, ops::Resize r, const std::vector<std::int64_t>& axes, ValueId sizes,
                ValueId scales, ops::AspectPolicy policy = ops::AspectPolicy::Stretch) {
  auto op = std::make_shared<ops::DynamicResize>();
  if (sizes.present() || scales.present()) {
    r.sizes = c.fact(0).shape;
    for (const std::int64_t a : axes) {
      r.sizes[static_cast<std::size_t>(a)] = c.graph().fresh_symbol("resized");
    }
  }
  const bool region = computed_region(c, r);
  op->proto = std::move(r);
  op->axes = axes;
  op->policy = policy;
  std::vector<ValueId> inputs{c.in(0), sizes, scales};
  if (region) inputs.push_back(c.in(1));
  return c.add1(std::move(op), std::move(inputs));
}

// A resize whose sizes are known; its region may not be.
ValueId known(NodeContext& c, ops::Resize r, const std::vector<std::int64_t>& axes) {
  if (computed_region(c, r)) return dynamic(c, std::move(r), axes, {}, {});
  return c.add1(std::make_shared<const ops::Resize>(std::move(r)), {c.in(0)});
}

ValueId by_scales(NodeContext& c, ops::Resize r, const std::vector<std::int64_t>& axes,
                  ValueId input) {
  const auto& value = c.graph().fact(input).value;
  if (!value) return dynamic(c, std::move(r), axes, {}, input);
  const auto scales = value->to_f64();
  check(scales.size() == axes.size(), ErrorKind::Shape, "{} scales for {} axes", scales.size(),
        axes.size());
  r.sizes = c.fact(0).shape;
  r.scales.assign(r.sizes.size(), 1.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    const auto size = scaled(r.sizes[a], scales[i]);
    if (!size) return dynamic(c, std::move(r), axes, {}, input);
    r.sizes[a] = *size;
    r.scales[a] = scales[i];
  }
  return known(c, std::move(r), axes);
}

// Sizes of the input's axes `axes`, when all are constants.
std::optional<Shape> constant_shape(const SymShape& shape, const std::vector<std::int64_t>& axes) {
  Shape out;
  for (const Dim& d : shape) out.push_back(d.as_const().value_or(1));
  for (const std::int64_t a : axes) {
    if (!shape[static_cast<std::size_t>(a)].is_const()) return std::nullopt;
  }
  return out;
}

ValueId by_sizes(NodeContext& c, ops::Resize r, const std::vector<std::int64_t>& axes) {
  const auto policy = choice<ops::AspectPolicy>(c, "keep_aspect_ratio_policy", "stretch",
                                                {{"stretch", ops::AspectPolicy::Stretch},
                                                 {"not_larger", ops::AspectPolicy::NotLarger},
                                                 {"not_smaller", ops::AspectPolicy::NotSmaller}});
  const auto sizes = c.symbolic(3);
  if (!sizes || !known_before(c, *sizes, &c.fact(0))) {
    return dynamic(c, std::move(r), axes, c.in(3), {}, policy);
  }
  check(sizes->size() == axes.size(), ErrorKind::Shape, "input 3 'sizes' has {} values for {} axes",
        sizes->size(), axes.size());
  r.sizes = c.fact(0).shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    r.sizes[static_cast<std::size_t>(axes[i])] = (*sizes)[i];
  }
  if (policy != ops::AspectPolicy::Stretch) {
    const auto from = constant_shape(c.fact(0).shape, axes);
    if (!from || !constant_shape(r.sizes, axes)) {
      return dynamic(c, std::move(r), axes, c.in(3), {}, policy);
    }
    ops::keep_aspect(r, *from, axes, policy);
  }
  return known(c, std::move(r), axes);
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
    return {by_scales(c, old_parameters(c, values), axes, c.in(1))};
  }
  ops::Resize r = parameters(c);
  if (r.coordinates == Coordinates::TfCropAndResize && !computed_region(c, r)) {
    ops::set_region(r, c.fact(0).shape.size(), axes, c.fact(1).value->to_f64());
  }
  const bool has_scales = given(c, 2);
  check(has_scales != given(c, 3), ErrorKind::Parse,
        "exactly one of input 2 'scales' and input 3 'sizes' must be given");
  return {has_scales ? by_scales(c, std::move(r), axes, c.in(2)) : by_sizes(c, std::move(r), axes)};
}

std::vector<ValueId> import_upsample(NodeContext& c) {
  const auto axes = axes_of(c);
  ops::Resize r = old_parameters(c, std::nullopt);
  if (c.opset() >= 9) return {by_scales(c, std::move(r), axes, c.in(1))};
  std::vector<double> scales;
  if (const auto listed = c.floats_attr("scales")) {
    scales = *listed;
  } else {
    scales = {1, 1, c.float_attr("height_scale", {}), c.float_attr("width_scale", {})};
  }
  const Shape count{static_cast<std::int64_t>(scales.size())};
  const ValueId input = c.constant_value(Tensor::from<double>(count, scales));
  return {by_scales(c, std::move(r), axes, input)};
}

}  // namespace treadle::onnx
