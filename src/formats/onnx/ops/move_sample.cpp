// ImageDecoder, GridSample, AffineGrid, RoiAlign, MaxRoiPool, NonMaxSuppression, Col2Im, MaxUnpool.
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/col2im.hpp"
#include "ops/grid_sample.hpp"
#include "ops/image_decoder.hpp"
#include "ops/max_roi_pool.hpp"
#include "ops/max_unpool.hpp"
#include "ops/move.hpp"
#include "ops/non_max_suppression.hpp"
#include "ops/range.hpp"
#include "ops/roi_align.hpp"

namespace treadle::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

Ints ints_or(NodeContext& c, std::string_view attr, std::size_t count, std::int64_t fallback) {
  Ints out = c.ints_attr(attr).value_or(Ints(count, fallback));
  check(out.size() == count, ErrorKind::Shape, "attribute '{}' has {} values, expected {}", attr,
        out.size(), count);
  return out;
}

// Homogeneous coordinates [points, r + 1] of a grid over [−1, 1]^r, last axis first.
Tensor base_grid(const Ints& sizes, bool align_corners) {
  std::int64_t points = 1;
  for (const std::int64_t s : sizes) {
    check(s > 0, ErrorKind::Shape, "input 1 'size' holds {}", s);
    points = checked_mul(points, s);
  }
  const auto r = static_cast<std::int64_t>(sizes.size());
  Tensor out(DType::F32, Shape{points, r + 1});
  auto to = out.mutable_span<float>();
  for (std::int64_t p = 0; p < points; ++p) {
    std::int64_t rest = p;
    for (std::int64_t d = r; d-- > 0;) {
      const std::int64_t size = sizes[static_cast<std::size_t>(d)];
      const double i = static_cast<double>(rest % size);
      const double n = static_cast<double>(size);
      rest /= size;
      const double at = align_corners ? (size > 1 ? 2 * i / (n - 1) - 1 : -1) : (2 * i + 1) / n - 1;
      to[static_cast<std::size_t>(p * (r + 1) + (r - 1 - d))] = static_cast<float>(at);
    }
    to[static_cast<std::size_t>(p * (r + 1) + r)] = 1;
  }
  return out;
}

}  // namespace

std::vector<ValueId> import_image_decoder(NodeContext& c) {
  const std::string text = c.string_attr("pixel_format", "RGB");
  check(text == "RGB" || text == "BGR" || text == "Grayscale", ErrorKind::Parse,
        "attribute 'pixel_format' is '{}', expected RGB, BGR or Grayscale", text);
  using ops::PixelFormat;
  const PixelFormat format = text == "RGB"   ? PixelFormat::Rgb
                             : text == "BGR" ? PixelFormat::Bgr
                                             : PixelFormat::Grayscale;
  const SymShape sizes = fresh_sizes(c, "picture", 2);
  return {c.add1(make_op<ops::ImageDecoder>(format, sizes[0], sizes[1]), {c.in(0)})};
}

std::vector<ValueId> import_grid_sample(NodeContext& c) {
  auto op = std::make_shared<ops::GridSample>();
  const std::string mode = c.string_attr("mode", "linear");
  if (mode == "linear" || mode == "bilinear") {
    op->mode = ops::SampleMode::Linear;
  } else if (mode == "nearest") {
    op->mode = ops::SampleMode::Nearest;
  } else {
    check(mode == "cubic" || mode == "bicubic", ErrorKind::Parse, "attribute 'mode' is '{}'", mode);
    op->mode = ops::SampleMode::Cubic;
  }
  const std::string padding = c.string_attr("padding_mode", "zeros");
  if (padding == "border") {
    op->padding = ops::SamplePadding::Border;
  } else if (padding == "reflection") {
    op->padding = ops::SamplePadding::Reflection;
  } else {
    check(padding == "zeros", ErrorKind::Parse, "attribute 'padding_mode' is '{}'", padding);
  }
  op->align_corners = c.int_attr("align_corners", 0) != 0;
  return {c.add1(std::move(op), {c.in(0), c.in(1)})};
}

namespace {

// The coordinates of one axis of a grid over [−1, 1], whose size is an element of input 1.
ValueId grid_axis(NodeContext& c, std::int64_t axis, bool align_corners) {
  const ValueId size = c.add1(make_op<ops::Gather>(0), {c.in(1), int_constant(c, axis)});
  const ValueId steps = c.add1(make_op<ops::Range>(c.graph().fresh_symbol("grid"), true),
                               {int_constant(c, 0), size, int_constant(c, 1)});
  const ValueId n = cast(c, size, DType::F64);
  const ValueId twice = binary(c, BinaryFn::Mul, cast(c, steps, DType::F64), 2);
  // One position alone lies at −1 where corners are aligned.
  const ValueId at = align_corners
                         ? binary(c, BinaryFn::Div, twice,
                                  binary(c, BinaryFn::Max, binary(c, BinaryFn::Sub, n, 1), 1))
                         : binary(c, BinaryFn::Div, binary(c, BinaryFn::Add, twice, 1), n);
  return cast(c, binary(c, BinaryFn::Sub, at, 1), c.fact(0).dtype);
}

// A grid whose sizes only the run knows: θ's columns times the coordinates, broadcast to the grid.
ValueId computed_affine_grid(NodeContext& c) {
  const std::int64_t count = element_count(c, 1, "size");
  check(count == 4 || count == 5, ErrorKind::Shape, "input 1 'size' has {} values, expected 4 or 5",
        count);
  const std::int64_t r = count - 2;
  const SymShape theta = c.fact(0).shape;
  check(theta.size() == 3 && (!theta[1].is_const() || theta[1].is(r)) &&
            (!theta[2].is_const() || theta[2].is(r + 1)),
        ErrorKind::Shape, "input 0 'theta' has shape {}, expected [N, {}, {}]", str(theta), r,
        r + 1);
  const bool align_corners = c.int_attr("align_corners", 0) != 0;
  // Column j of θ as [N, 1, …, 1, r].
  const auto column = [&](std::int64_t j) {
    const ValueId strip = slice(c, c.in(0), 2, j, 1);
    return unsqueeze(c, reshape(c, strip, {theta[0], r}), axis_range(1, r));
  };
  ValueId grid = column(r);
  for (std::int64_t j = 0; j < r; ++j) {
    // Coordinates stand last axis first.
    const std::int64_t axis = r - 1 - j;
    const ValueId at =
        at_axis(c, grid_axis(c, axis + 2, align_corners), axis + 1, static_cast<int>(r + 2));
    grid = binary(c, BinaryFn::Add, grid, binary(c, BinaryFn::Mul, column(j), at));
  }
  return grid;
}

}  // namespace

std::vector<ValueId> import_affine_grid(NodeContext& c) {
  if (!c.constant(1)) return {computed_affine_grid(c)};
  const auto size = c.required_constant(1).to_i64();
  check(size.size() == 4 || size.size() == 5, ErrorKind::Shape,
        "input 1 'size' has {} values, expected 4 or 5", size.size());
  const Ints spatial(size.begin() + 2, size.end());
  const SymShape theta = c.fact(0).shape;
  const auto r = static_cast<std::int64_t>(spatial.size());
  check(theta.size() == 3 && (!theta[1].is_const() || theta[1].is(r)) &&
            (!theta[2].is_const() || theta[2].is(r + 1)),
        ErrorKind::Shape, "input 0 'theta' has shape {}, expected [{}, {}, {}]", str(theta),
        size[0], r, r + 1);
  ValueId base = c.constant_value(base_grid(spatial, c.int_attr("align_corners", 0) != 0));
  base = cast(c, base, c.fact(0).dtype);
  const ValueId turned = c.add1(make_op<ops::Transpose>(Perm{0, 2, 1}), {c.in(0)});
  const ValueId grid = ops::matmul(c.graph(), c.fresh_name(), base, turned);
  SymShape shape{theta[0]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  shape.push_back(r);
  return {reshape(c, grid, shape)};
}

std::vector<ValueId> import_roi_align(NodeContext& c) {
  auto op = std::make_shared<ops::RoiAlign>();
  const std::string mode = c.string_attr("mode", "avg");
  check(mode == "avg" || mode == "max", ErrorKind::Parse, "attribute 'mode' is '{}'", mode);
  op->max = mode == "max";
  const std::string coordinates =
      c.opset() >= 16 ? c.string_attr("coordinate_transformation_mode", "half_pixel")
                      : "output_half_pixel";
  check(coordinates == "half_pixel" || coordinates == "output_half_pixel", ErrorKind::Parse,
        "attribute 'coordinate_transformation_mode' is '{}'", coordinates);
  op->half_pixel = coordinates == "half_pixel";
  op->out_h = c.int_attr("output_height", 1);
  op->out_w = c.int_attr("output_width", 1);
  op->ratio = c.int_attr("sampling_ratio", 0);
  op->scale = c.float_attr("spatial_scale", 1.0);
  return {c.add1(std::move(op), {c.in(0), c.in(1), c.in(2)})};
}

std::vector<ValueId> import_max_roi_pool(NodeContext& c) {
  auto op = std::make_shared<ops::MaxRoiPool>();
  const auto size = c.ints_attr("pooled_shape").value_or(std::vector<std::int64_t>{});
  check(size.size() == 2, ErrorKind::Parse, "attribute 'pooled_shape' has {} entries, expected 2",
        size.size());
  op->out_h = size[0];
  op->out_w = size[1];
  op->scale = c.float_attr("spatial_scale", 1.0);
  return {c.add1(std::move(op), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_non_max_suppression(NodeContext& c) {
  const std::int64_t center = c.int_attr("center_point_box", 0);
  check(center == 0 || center == 1, ErrorKind::Parse, "attribute 'center_point_box' is {}", center);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < std::min<std::size_t>(c.inputs(), 5); ++i) {
    inputs.push_back(c.has(i) ? c.in(i) : ValueId{});
  }
  const Dim count = c.graph().fresh_symbol("selected");
  return {c.add1(make_op<ops::NonMaxSuppression>(center == 1, count), std::move(inputs))};
}

std::vector<ValueId> import_col2im(NodeContext& c) {
  ops::Col2Im op;
  const auto n = static_cast<std::size_t>(element_count(c, 1, "image_shape"));
  check(n + 2 <= static_cast<std::size_t>(kMaxRank), ErrorKind::Shape,
        "the output's rank {} is above the limit of {}", n + 2, kMaxRank);
  op.dilations = ints_or(c, "dilations", n, 1);
  op.strides = ints_or(c, "strides", n, 1);
  const Ints pads = ints_or(c, "pads", 2 * n, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(n);
  op.before.assign(pads.begin(), middle);
  op.after.assign(middle, pads.end());
  const auto image = c.constant_ints(1);
  const auto block = c.constant_ints(2);
  if (image && block) {
    op.image = *image;
    op.block = *block;
    return {c.add1(std::make_shared<const ops::Col2Im>(std::move(op)), {c.in(0)})};
  }
  auto dynamic = std::make_shared<ops::DynamicCol2Im>();
  dynamic->proto = std::move(op);
  check(c.fact(0).rank() == 3, ErrorKind::Shape, "input 0 has rank {}, expected 3",
        c.fact(0).rank());
  dynamic->sizes = fresh_sizes(c, "image", n + 2);
  dynamic->sizes[0] = c.fact(0).shape[0];
  for (std::size_t i = 0; image && i < n; ++i) dynamic->sizes[i + 2] = (*image)[i];
  return {c.add1(std::move(dynamic), {c.in(0), c.in(1), c.in(2)})};
}

std::vector<ValueId> import_max_unpool(NodeContext& c) {
  const SymShape from = c.fact(0).shape;
  const auto kernel = c.ints_attr("kernel_shape");
  check(kernel && kernel->size() + 2 == from.size(), ErrorKind::Shape,
        "attribute 'kernel_shape' does not fit rank {}", from.size());
  const std::size_t n = kernel->size();
  const Ints strides = ints_or(c, "strides", n, 1);
  const Ints pads = ints_or(c, "pads", 2 * n, 0);
  SymShape counted{from[0], from[1]};
  for (std::size_t i = 0; i < n; ++i) {
    counted.push_back((from[i + 2] - 1) * strides[i] - checked_add(pads[i], pads[i + n]) +
                      (*kernel)[i]);
  }
  SymShape sizes = counted;
  if (c.has(2)) {
    const auto given = c.symbolic(2);
    if (!given || !known_before(c, *given, &c.fact(0))) {
      sizes = fresh_sizes(c, "unpooled", from.size());
      return {c.add1(make_op<ops::MaxUnpool>(sizes, counted), {c.in(0), c.in(1), c.in(2)})};
    }
    sizes = *given;
  }
  return {c.add1(make_op<ops::MaxUnpool>(sizes, counted), {c.in(0), c.in(1)})};
}

}  // namespace treadle::onnx
