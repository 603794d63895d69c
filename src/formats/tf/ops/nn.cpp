// Convolution, pooling, normalisation, resizing.
#include <cmath>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/conv.hpp"
#include "ops/conv_transpose.hpp"
#include "ops/dynamic_resize.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/move.hpp"
#include "ops/norm.hpp"
#include "ops/pool.hpp"
#include "ops/resize.hpp"
#include "ops/shape_of.hpp"

namespace treadle::tf {
namespace {

void check_image(NodeContext& c, std::size_t i, int minimum = 4) {
  const int rank = c.fact(i).rank();
  check(rank >= minimum && rank <= 5, ErrorKind::Shape,
        "input {} has shape {}, expected [N, spatial…, C]", i, str(c.fact(i).shape));
}

ops::Conv conv_of(NodeContext& c) {
  check_image(c, 0);
  const int rank = c.fact(0).rank();
  ops::Conv conv;
  conv.layout = c.layout();
  conv.weight_layout = ops::WeightLayout::HWIO;
  conv.strides = c.spatial_attr("strides", conv.layout, rank);
  conv.dilations = c.spatial_attr("dilations", conv.layout, rank);
  conv.padding = c.padding(conv.layout, rank);
  return conv;
}

// Images without the elements that no window of MaxPool3D and AvgPool3D sees: with SAME padding and
// a stride above the kernel, their windows start inside the image (Eigen's TensorVolumePatch.h pads
// by a negative size there, halved towards 0).
ValueId without_margin(NodeContext& c, const ops::Pool& pool) {
  ValueId x = c.in(0);
  if (c.fact(0).rank() != 5 || pool.padding.mode != ops::AutoPad::SameUpper) return x;
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    if (pool.strides[i] <= pool.kernel[i]) continue;
    const auto axis = static_cast<std::size_t>(ops::spatial_axis(pool.layout, static_cast<int>(i)));
    const Dim size = c.fact(0).shape[axis];
    // An axis without elements has no windows: below 0 then.
    const Dim reached =
        max((ceil_div(size, Dim(pool.strides[i])) - 1) * pool.strides[i] + pool.kernel[i], Dim(0));
    const Dim margin = floor_div(max(size - reached, Dim(0)), Dim(2));
    if (margin.is(0)) continue;
    x = c.add1(make_op<ops::Slice>(static_cast<std::int64_t>(axis), margin, size - margin), {x});
  }
  return x;
}

std::vector<ValueId> pool(NodeContext& c, ops::PoolKind kind) {
  check_image(c, 0);
  const int rank = c.fact(0).rank();
  ops::Pool pool;
  pool.kind = kind;
  pool.layout = c.layout();
  pool.kernel = c.spatial_attr("ksize", pool.layout, rank);
  pool.strides = c.spatial_attr("strides", pool.layout, rank);
  pool.dilations.assign(pool.kernel.size(), 1);
  pool.padding = c.padding(pool.layout, rank);
  const ValueId x = without_margin(c, pool);
  return {c.add1(make_op<ops::Pool>(std::move(pool)), {x})};
}

std::vector<ValueId> resize(NodeContext& c, ops::ResizeMode mode) {
  const Fact& x = c.fact(0);
  check(x.rank() == 4, ErrorKind::Shape, "input 0 has shape {}, expected [N, H, W, C]",
        str(x.shape));
  const auto known = c.fact(1).symbolic();
  check(c.fact(1).rank() == 1 && (!known || known->size() == 2), ErrorKind::Shape,
        "input 1 'size' has shape {}, expected 2 elements", str(c.fact(1).shape));
  const SymShape size =
      known ? SymShape(*known)
            : SymShape{c.graph().fresh_symbol(c.name()), c.graph().fresh_symbol(c.name())};
  const bool corners = c.bool_attr("align_corners", false),
             half = c.bool_attr("half_pixel_centers", false);
  check(!(corners && half), ErrorKind::Parse, "align_corners and half_pixel_centers are both set");
  ops::Resize r;
  r.mode = mode;
  const bool nearest = mode == ops::ResizeMode::Nearest;
  // TensorFlow's nearest takes floor((i + ½)·scale) with half-pixel centres, round(i·scale) with
  // aligned corners, floor(i·scale) otherwise (image_resizer_state.h).
  r.coordinates = corners   ? ops::Coordinates::AlignCorners
                  : !half   ? ops::Coordinates::Asymmetric
                  : nearest ? ops::Coordinates::TfHalfPixelForNn
                            : ops::Coordinates::HalfPixel;
  r.nearest = corners ? ops::NearestRound::RoundPreferCeil : ops::NearestRound::Floor;
  if (mode == ops::ResizeMode::Cubic) {
    // Keys' kernel with a = -0.5 and weights that add up to 1 inside the image with half-pixel
    // centres, a = -0.75 and repeated borders otherwise (resize_bicubic_op.cc).
    r.cubic_a = half ? -0.5 : -0.75;
    r.exclude_outside = half;
  }
  r.sizes = {x.shape[0], size[0], size[1], x.shape[3]};
  const ValueId in = mode != ops::ResizeMode::Nearest
                         ? ops::cast(c.graph(), c.fresh_name(), c.in(0), DType::F32)
                         : c.in(0);
  if (known) return {c.add1(make_op<ops::Resize>(std::move(r)), {in})};
  auto dynamic = std::make_shared<ops::DynamicResize>();
  dynamic->proto = std::move(r);
  dynamic->axes = {1, 2};
  return {c.add1(std::move(dynamic), {in, c.in(1)})};
}

}  // namespace

std::vector<ValueId> import_conv(NodeContext& c) {
  auto conv = conv_of(c);
  const int rank = c.fact(0).rank();
  const SymShape& w = c.fact(1).shape;
  check(c.fact(1).rank() == rank, ErrorKind::Shape,
        "input 1 'filter' has shape {}, expected rank {}", str(w), rank);
  const Dim& channels =
      c.fact(0).shape[static_cast<std::size_t>(ops::channel_axis(conv.layout, rank))];
  // Grouped when the filter has fewer input channels than the image.
  SymShape sizes(w.begin(), w.end() - 1);
  sizes.push_back(channels);
  check_sizes(is_const(sizes), sizes,
              "the sizes of input 1 'filter' {} and the {} channels of input 0 must be known",
              str(w), channels.str());
  const std::int64_t each = w[static_cast<std::size_t>(rank) - 2].value();
  check(each > 0 && channels.value() % each == 0, ErrorKind::Shape,
        "input 1 'filter' has shape {} for an input of {} channels", str(w), channels.value());
  conv.group = std::max<std::int64_t>(1, channels.value() / each);
  return {c.add1(make_op<ops::Conv>(std::move(conv)), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_depthwise_conv(NodeContext& c) {
  auto conv = conv_of(c);
  const SymShape w = c.fact(1).shape;
  check_sizes(w.size() == 4 && is_const(w) && w[2].value() > 0, w,
              "input 1 'filter' has shape {}, expected [kH, kW, C, multiplier]", str(w));
  conv.group = w[2].value();
  const ValueId filter =
      ops::reshape(c.graph(), c.fresh_name() + "/filter", c.in(1), {w[0], w[1], 1, w[2] * w[3]});
  return {c.add1(make_op<ops::Conv>(std::move(conv)), {c.in(0), filter})};
}

std::vector<ValueId> import_conv_transpose(NodeContext& c) {
  check_image(c, 2);
  const int rank = c.fact(2).rank();
  ops::ConvTranspose conv;
  const SymShape& w = c.fact(1).shape;
  check_sizes(is_const(w), w, "the sizes of input 1 'filter' {} must be known", str(w));
  conv.layout = c.layout();
  conv.weight_layout = ops::WeightLayout::HWIO;
  conv.strides = c.spatial_attr("strides", conv.layout, rank);
  conv.dilations = c.spatial_attr("dilations", conv.layout, rank);
  conv.padding = c.padding(conv.layout, rank);
  conv.output_padding.assign(conv.strides.size(), 0);
  const auto sizes = c.symbolic(0);
  check(sizes.size() == static_cast<std::size_t>(rank), ErrorKind::Shape,
        "input 0 'input_sizes' has {} elements, expected {}", sizes.size(), rank);
  for (int i = 0; i < rank - 2; ++i) {
    conv.output_spatial.push_back(
        sizes[static_cast<std::size_t>(ops::spatial_axis(conv.layout, i))]);
  }
  return {c.add1(make_op<ops::ConvTranspose>(std::move(conv)), {c.in(2), c.in(1)})};
}

std::vector<ValueId> import_max_pool(NodeContext& c) {
  return pool(c, ops::PoolKind::Max);
}
std::vector<ValueId> import_avg_pool(NodeContext& c) {
  return pool(c, ops::PoolKind::Average);
}

// Inference only: y = (x − mean)·scale/√(variance + ε) + offset; ε defaults to 1e-4, as old graphs
// leave it out.
std::vector<ValueId> import_batch_norm(NodeContext& c) {
  check(!c.bool_attr("is_training", true), ErrorKind::Unsupported,
        "attribute 'is_training' is set (or left out): only inference is supported");
  check_image(c, 0);
  Graph& g = c.graph();
  const auto name = [&] { return c.fresh_name(); };
  const std::string base = c.fresh_name();
  const auto make = [&](ops::BinaryFn fn, ValueId a, ValueId b) {
    return ops::binary(g, base + "/stats", fn, a, b);
  };
  const ValueId scale = c.in(1), offset = c.in(2), mean = c.in(3), variance = c.in(4);
  const double epsilon = c.float_attr("epsilon", 1e-4f);
  const ValueId sum =
      make(ops::BinaryFn::Add, variance, ops::scalar_like(g, base + "/epsilon", epsilon, variance));
  ValueId factor =
      make(ops::BinaryFn::Mul, scale, ops::unary(g, base + "/rsqrt", ops::UnaryFn::Rsqrt, sum));
  ValueId shift = make(ops::BinaryFn::Sub, offset, make(ops::BinaryFn::Mul, mean, factor));
  // They are f32 where x is of 16 bits.
  factor = ops::cast(g, base + "/factor", factor, c.fact(0).dtype);
  shift = ops::cast(g, base + "/shift", shift, c.fact(0).dtype);
  if (c.layout() == ops::Layout::ChannelsFirst) {
    SymShape shape(static_cast<std::size_t>(c.fact(0).rank()), Dim(1));
    shape[1] = g.fact(factor).shape.at(0);
    factor = ops::reshape(g, base + "/factor", factor, shape);
    shift = ops::reshape(g, base + "/shift", shift, shape);
  }
  const ValueId scaled = ops::binary(g, base + "/scaled", ops::BinaryFn::Mul, c.in(0), factor);
  return {ops::binary(g, name(), ops::BinaryFn::Add, scaled, shift)};
}

std::vector<ValueId> import_lrn(NodeContext& c) {
  check_image(c, 0);
  ops::Lrn lrn;
  const std::int64_t radius = c.int_attr("depth_radius", 5);
  check(radius >= 0 && radius < (1 << 20), ErrorKind::Parse, "attribute 'depth_radius' is {}",
        radius);
  lrn.axis = c.fact(0).rank() - 1;
  lrn.size = 2 * radius + 1;
  // TensorFlow does not divide alpha by the size of the window.
  lrn.alpha = c.float_attr("alpha", 1) * static_cast<double>(lrn.size);
  lrn.beta = c.float_attr("beta", 0.5);
  lrn.bias = c.float_attr("bias", 1);
  return {c.add1(make_op<ops::Lrn>(lrn), {c.in(0)})};
}

// Pads, splits each spatial axis into [size/block, block], and moves the blocks to the batch.
std::vector<ValueId> import_space_to_batch(NodeContext& c) {
  const auto block = c.constant_ints(1);
  const auto pads = c.symbolic(2);
  const int rank = c.fact(0).rank();
  const std::size_t m = block.size();
  check(static_cast<std::size_t>(rank) > m && pads.size() == 2 * m, ErrorKind::Shape,
        "blocks of {} axes and {} paddings for an input of rank {}", m, pads.size(), rank);
  ops::Pad pad;
  pad.before.assign(static_cast<std::size_t>(rank), 0);
  pad.after = pad.before;
  for (std::size_t i = 0; i < m; ++i) {
    check(block[i] > 0, ErrorKind::Shape, "block {} has size {}", i, block[i]);
    pad.before[i + 1] = pads[2 * i];
    pad.after[i + 1] = pads[2 * i + 1];
  }
  const ValueId padded = c.add1(make_op<ops::Pad>(std::move(pad)), {c.in(0)});
  const SymShape from = c.graph().fact(padded).shape;
  SymShape split{from[0]}, to{from[0]};
  Perm perm;
  for (std::size_t i = 0; i < m; ++i) {
    const Dim part = floor_div(from[i + 1], block[i]);
    split.push_back(part);
    split.push_back(block[i]);
    to[0] = to[0] * Dim(block[i]);
    to.push_back(part);
    perm.push_back(static_cast<int>(2 * i + 2));
  }
  perm.push_back(0);
  for (std::size_t i = 0; i < m; ++i) perm.push_back(static_cast<int>(2 * i + 1));
  for (std::size_t i = m + 1; i < static_cast<std::size_t>(rank); ++i) {
    perm.push_back(static_cast<int>(m + i));
    split.push_back(from[i]);
    to.push_back(from[i]);
  }
  const ValueId parts = ops::reshape(c.graph(), c.fresh_name(), padded, split);
  const ValueId moved = ops::transpose(c.graph(), c.fresh_name(), parts, perm);
  return {ops::reshape(c.graph(), c.fresh_name(), moved, to)};
}

std::vector<ValueId> import_batch_to_space(NodeContext& c) {
  const auto block = c.constant_ints(1);
  const auto crops = c.symbolic(2);
  const SymShape from = c.fact(0).shape;
  const std::size_t m = block.size();
  check(from.size() > m && crops.size() == 2 * m, ErrorKind::Shape,
        "blocks of {} axes and {} crops for an input of rank {}", m, crops.size(), from.size());
  std::int64_t blocks = 1;
  for (std::int64_t b : block) {
    check(b > 0, ErrorKind::Shape, "a block has size {}", b);
    blocks = checked_mul(blocks, b);
  }
  const Dim batch = floor_div(from[0], blocks);
  SymShape split(block.begin(), block.end());
  split.push_back(batch);
  split.insert(split.end(), from.begin() + 1, from.end());
  Perm perm{static_cast<int>(m)};
  SymShape to{batch};
  for (std::size_t i = 0; i < m; ++i) {
    perm.push_back(static_cast<int>(m + 1 + i));
    perm.push_back(static_cast<int>(i));
    to.push_back(from[i + 1] * Dim(block[i]));
  }
  for (std::size_t i = m + 1; i < from.size(); ++i) {
    perm.push_back(static_cast<int>(m + i));
    to.push_back(from[i]);
  }
  const ValueId parts = ops::reshape(c.graph(), c.fresh_name(), c.in(0), split);
  const ValueId moved = ops::transpose(c.graph(), c.fresh_name(), parts, perm);
  ValueId x = ops::reshape(c.graph(), c.fresh_name(), moved, to);
  for (std::size_t i = 0; i < m; ++i) {
    const Dim length = to[i + 1] - crops[2 * i] - crops[2 * i + 1];
    if (crops[2 * i].is(0) && crops[2 * i + 1].is(0)) continue;
    x = c.add1(make_op<ops::Slice>(static_cast<std::int64_t>(i + 1), crops[2 * i], length), {x});
  }
  return {x};
}

namespace {

// [N, H, W, C] and the block size, checked; NHWC only.
std::int64_t block_size(NodeContext& c) {
  check_image(c, 0);
  check(c.fact(0).rank() == 4 && c.layout() == ops::Layout::ChannelsLast, ErrorKind::Unsupported,
        "only data_format NHWC is supported");
  const std::int64_t b = c.int_attr("block_size", 0);
  check(b > 0 && b < 65536, ErrorKind::Parse, "attribute 'block_size' is {}", b);
  return b;
}

Dim divided(const Dim& size, std::int64_t by, const char* what) {
  const auto q = exact_div(size, by);
  check(q.has_value() || !size.is_const(), ErrorKind::Shape,
        "{} {} is not a multiple of the block {}", what, size.str(), by);
  return q ? *q : floor_div(size, by);
}

}  // namespace

std::vector<ValueId> import_space_to_depth(NodeContext& c) {
  const std::int64_t b = block_size(c);
  const SymShape s = c.fact(0).shape;
  const Dim h = divided(s[1], b, "the height"), w = divided(s[2], b, "the width");
  ValueId x = ops::reshape(c.graph(), c.fresh_name(), c.in(0), {s[0], h, b, w, b, s[3]});
  x = ops::transpose(c.graph(), c.fresh_name(), x, {0, 1, 3, 2, 4, 5});
  return {ops::reshape(c.graph(), c.fresh_name(), x, {s[0], h, w, s[3] * Dim(b * b)})};
}

std::vector<ValueId> import_depth_to_space(NodeContext& c) {
  const std::int64_t b = block_size(c);
  const SymShape s = c.fact(0).shape;
  const Dim channels = divided(s[3], b * b, "the channel count");
  ValueId x = ops::reshape(c.graph(), c.fresh_name(), c.in(0), {s[0], s[1], s[2], b, b, channels});
  x = ops::transpose(c.graph(), c.fresh_name(), x, {0, 1, 3, 2, 4, 5});
  return {
      ops::reshape(c.graph(), c.fresh_name(), x, {s[0], s[1] * Dim(b), s[2] * Dim(b), channels})};
}

std::vector<ValueId> import_resize_bilinear(NodeContext& c) {
  return resize(c, ops::ResizeMode::Linear);
}
std::vector<ValueId> import_resize_bicubic(NodeContext& c) {
  return resize(c, ops::ResizeMode::Cubic);
}
std::vector<ValueId> import_resize_nearest(NodeContext& c) {
  return resize(c, ops::ResizeMode::Nearest);
}

}  // namespace treadle::tf
