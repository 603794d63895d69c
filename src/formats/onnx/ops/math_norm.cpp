// Normalisations.
#include "formats/onnx/ops/math_helpers.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "ops/norm.hpp"

namespace treadle::onnx {
namespace {

ValueId norm(NodeContext& c, ValueId x, Axes axes, double epsilon, bool center) {
  return c.add1(make_op<ops::Norm>(std::move(axes), epsilon, center), {x});
}

// y · scale + bias, where given.
ValueId affine(NodeContext& c, ValueId y, std::optional<ValueId> scale,
               std::optional<ValueId> bias) {
  if (scale) y = binary(c, BinaryFn::Mul, y, *scale);
  if (bias) y = binary(c, BinaryFn::Add, y, *bias);
  return y;
}

std::optional<ValueId> maybe_input(NodeContext& c, std::size_t i) {
  return c.has(i) ? std::optional(c.in(i)) : std::nullopt;
}

// A per-channel vector [C] against [N, C, …] of `rank`.
ValueId per_channel(NodeContext& c, ValueId v, int rank) {
  check(rank_of(c, v) == 1, ErrorKind::Shape, "per-channel input has shape {}, expected one axis",
        str(shape_of(c, v)));
  return rank > 1 ? at_axis(c, v, 1, rank) : v;
}

// Statistics in the dtype that LayerNormalization promises: f32, or f64 for f64.
struct Statistics {
  ValueId mean, inverse;
};
Statistics statistics(NodeContext& c, ValueId x, const Axes& axes, double epsilon, bool center) {
  if (dtype_of(c, x) != DType::F64) x = cast(c, x, DType::F32);
  const ValueId mean = reduce(c, ReduceFn::Mean, x, axes);
  const ValueId d = center ? binary(c, BinaryFn::Sub, x, mean) : x;
  const ValueId variance = reduce(c, ReduceFn::Mean, unary(c, UnaryFn::Square, d), axes);
  return {mean, unary(c, UnaryFn::Rsqrt, binary(c, BinaryFn::Add, variance, epsilon))};
}

// Outputs y, then mean and inverse deviation when wanted (for the uncentred form the second output
// is the inverse deviation).
std::vector<ValueId> layer_norm(NodeContext& c, ValueId x, std::int64_t axis, double epsilon,
                                bool center, std::optional<ValueId> scale,
                                std::optional<ValueId> bias) {
  const int rank = rank_of(c, x);
  const Axes axes = axis_range(ops::normal_axis(axis, rank), rank - 1);
  std::vector<ValueId> out = {affine(c, norm(c, x, axes, epsilon, center), scale, bias)};
  if (c.wants_output(1) || c.wants_output(2)) {
    const Statistics s = statistics(c, x, axes, epsilon, center);
    if (center) out.push_back(s.mean);
    out.push_back(s.inverse);
  }
  return out;
}

std::vector<ValueId> skip_norm(NodeContext& c, bool center, std::optional<ValueId> bias,
                               std::optional<ValueId> shift) {
  ValueId x = binary(c, BinaryFn::Add, c.in(0), c.in(1));
  if (shift) x = binary(c, BinaryFn::Add, x, *shift);
  const double epsilon = c.float_attr("epsilon", 1e-12);
  auto out = layer_norm(c, x, -1, epsilon, center, c.in(2), bias);
  if (!center && out.size() == 2) out.insert(out.begin() + 1, ValueId{});
  if (c.wants_output(3)) {
    out.resize(3);
    out.push_back(x);
  }
  return out;
}

struct ScaleShift {
  ValueId scale, shift;
};

// Batch normalisation as x · scale + shift, in f32 (f64 for f64).
ScaleShift folded_statistics(NodeContext& c, double epsilon) {
  const DType t = c.fact(0).dtype == DType::F64 ? DType::F64 : DType::F32;
  const ValueId deviation = binary(c, BinaryFn::Add, cast(c, c.in(4), t), epsilon);
  const ValueId scale =
      binary(c, BinaryFn::Div, cast(c, c.in(1), t), unary(c, UnaryFn::Sqrt, deviation));
  const ValueId moved = binary(c, BinaryFn::Mul, cast(c, c.in(3), t), scale);
  return {scale, binary(c, BinaryFn::Sub, cast(c, c.in(2), t), moved)};
}

// Statistics of the batch itself, and the running ones updated by them.
std::vector<ValueId> batch_norm_training(NodeContext& c, double epsilon) {
  const ValueId x = c.in(0);
  const int rank = rank_of(c, x);
  Axes axes = axis_range(0, rank - 1);
  check(rank >= 2, ErrorKind::Shape, "input 0 'X' has shape {}, expected [N, C, …]",
        str(shape_of(c, x)));
  axes.erase(axes.begin() + 1);
  const ValueId y = affine(c, norm(c, x, axes, epsilon, true), per_channel(c, c.in(1), rank),
                           per_channel(c, c.in(2), rank));
  const double momentum = c.float_attr("momentum", 0.9);
  const DType t = dtype_of(c, c.in(3));
  const ValueId wide = cast(c, x, t);
  const ValueId mean = reduce(c, ReduceFn::Mean, wide, axes);
  const ValueId squares = unary(c, UnaryFn::Square, binary(c, BinaryFn::Sub, wide, mean));
  const auto update = [&](ValueId old, ValueId now) {
    const ValueId flat = ops::squeeze(c.graph(), c.fresh_name(), now, axes);
    return binary(c, BinaryFn::Add, binary(c, BinaryFn::Mul, old, momentum),
                  binary(c, BinaryFn::Mul, flat, 1 - momentum));
  };
  return {y, update(c.in(3), mean), update(c.in(4), reduce(c, ReduceFn::Mean, squares, axes))};
}

}  // namespace

std::vector<ValueId> import_batch_norm(NodeContext& c) {
  const double epsilon = c.float_attr("epsilon", 1e-5);
  if (c.opset() >= 14) {
    if (c.int_attr("training_mode", 0) != 0) return batch_norm_training(c, epsilon);
  } else {
    check(!c.wants_output(1), ErrorKind::Unsupported,
          "BatchNormalization in training mode (outputs after the first) before opset 14");
  }
  const ValueId x = c.in(0);
  const int rank = rank_of(c, x);
  const bool per_element = c.opset() < 9 && c.int_attr("spatial", 1) == 0;
  const auto placed = [&](ValueId v) {
    const ValueId typed = cast(c, v, dtype_of(c, x));
    return per_element ? typed : per_channel(c, typed, rank);
  };
  const ScaleShift s = folded_statistics(c, epsilon);
  return {affine(c, x, placed(s.scale), placed(s.shift))};
}

std::vector<ValueId> import_layer_norm(NodeContext& c) {
  return layer_norm(c, c.in(0), c.int_attr("axis", -1), c.float_attr("epsilon", 1e-5), true,
                    c.in(1), maybe_input(c, 2));
}

// RMSNormalization and ONNX Runtime's SimplifiedLayerNormalization.
std::vector<ValueId> import_rms_norm(NodeContext& c) {
  return layer_norm(c, c.in(0), c.int_attr("axis", -1), c.float_attr("epsilon", 1e-5), false,
                    c.in(1), std::nullopt);
}

// Inputs: input, skip, gamma, beta, bias.
std::vector<ValueId> import_skip_layer_norm(NodeContext& c) {
  return skip_norm(c, true, maybe_input(c, 3), maybe_input(c, 4));
}

// Inputs: input, skip, gamma, bias.
std::vector<ValueId> import_skip_rms_norm(NodeContext& c) {
  return skip_norm(c, false, std::nullopt, maybe_input(c, 3));
}

std::vector<ValueId> import_instance_norm(NodeContext& c) {
  const ValueId x = c.in(0);
  const int rank = rank_of(c, x);
  check(rank >= 3, ErrorKind::Shape, "input 0 has shape {}, expected [N, C, spatial…]",
        str(shape_of(c, x)));
  const ValueId y = norm(c, x, axis_range(2, rank - 1), c.float_attr("epsilon", 1e-5), true);
  return {affine(c, y, per_channel(c, c.in(1), rank), per_channel(c, c.in(2), rank))};
}

// Scale and bias hold one value a group before opset 21, one a channel since.
std::vector<ValueId> import_group_norm(NodeContext& c) {
  const ValueId x = c.in(0);
  const SymShape shape = shape_of(c, x);
  const int rank = rank_of(c, x);
  const std::int64_t groups = c.int_attr("num_groups", std::nullopt);
  check(rank >= 2 && groups > 0, ErrorKind::Shape,
        "input 0 has shape {} and num_groups is {}, expected [N, C, …] and at least 1", str(shape),
        groups);
  SymShape grouped = {shape[0], Dim(groups), nn::divide(shape[1], groups, "channels")};
  for (std::size_t i = 2; i < shape.size(); ++i) grouped[2] = grouped[2] * shape[i];
  const ValueId y = norm(c, reshape(c, x, grouped), {2}, c.float_attr("epsilon", 1e-5), true);
  if (c.opset() < 21) {
    const ValueId z = affine(c, y, per_channel(c, c.in(1), 3), per_channel(c, c.in(2), 3));
    return {reshape(c, z, shape)};
  }
  return {affine(c, reshape(c, y, shape), per_channel(c, c.in(1), rank),
                 per_channel(c, c.in(2), rank))};
}

// x / ‖x‖p; 0 where the norm is 0.
std::vector<ValueId> import_lp_norm(NodeContext& c) {
  const ValueId x = c.in(0);
  const std::int64_t p = c.int_attr("p", 2);
  check(p == 1 || p == 2, ErrorKind::Unsupported, "attribute 'p' is {}, expected 1 or 2", p);
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", -1), rank_of(c, x));
  const ValueId length = reduce(c, p == 1 ? ReduceFn::L1 : ReduceFn::L2, x, {axis});
  const ValueId none = binary(c, BinaryFn::Equal, length, 0.0);
  const ValueId one = ops::scalar_like(c.graph(), c.fresh_name(), 1, length);
  return {binary(c, BinaryFn::Div, x, select(c, none, one, length))};
}

// (x − mean) / (deviation + 1e-9), as the standard's function has it: the square of its constant
// under the root gives the same where the deviation is 0, and less than rounding elsewhere.
std::vector<ValueId> import_mean_variance_norm(NodeContext& c) {
  Axes axes = c.ints_attr("axes").value_or(Axes{0, 2, 3});
  return {norm(c, c.in(0), ops::normal_axes(std::move(axes), c.fact(0).rank()), 1e-18, true)};
}

}  // namespace treadle::onnx
