// Integer convolutions and matrix products: exact i32 sums, requantised in f32.
#include <array>

#include "base/error.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/onnx/ops/nn_conv.hpp"
#include "formats/onnx/ops/nn_quantize.hpp"

namespace treadle::onnx {

namespace {

bool is_one_element(const SymShape& shape) {
  for (const Dim& d : shape) {
    if (!d.is(1)) return false;
  }
  return true;
}

// i32(x) − i32(zero point), the zero point shaped by `shape_of` when it has several elements.
ValueId centred(NodeContext& ctx, ValueId x, ValueId zero_point) {
  const ValueId wide = nn::cast(ctx, x, DType::I32);
  if (!zero_point.present()) return wide;
  return nn::binary(ctx, ops::BinaryFn::Sub, wide, nn::cast(ctx, zero_point, DType::I32));
}

// A per-channel parameter [C] as [C, 1, …] with `trailing` ones; one element becomes a scalar.
ValueId per_channel(NodeContext& ctx, ValueId v, int trailing) {
  if (!v.present()) return v;
  const Fact& f = ctx.graph().fact(v);
  if (is_one_element(f.shape)) return nn::as_scalar(ctx, v);
  check(f.rank() == 1, ErrorKind::Shape,
        "a scale or zero point has shape {}, expected a scalar or one a channel", str(f.shape));
  return trailing == 0 ? v : nn::unsqueeze(ctx, v, nn::axes_from(1, trailing));
}

// The i32 convolution of x − x_zp with w − w_zp.
ValueId integer_conv(NodeContext& ctx, std::size_t w, ValueId x_zero, ValueId w_zero,
                     ValueId bias) {
  const int count = nn::spatial_count(ctx, 0);
  nn::check_kernel_shape(ctx, ctx.fact(w).shape, count);
  std::vector<ValueId> inputs{
      centred(ctx, ctx.in(0), x_zero.present() ? nn::as_scalar(ctx, x_zero) : x_zero),
      centred(ctx, ctx.in(w), per_channel(ctx, w_zero, count + 1))};
  if (bias.present()) inputs.push_back(bias);
  return ctx.add1(nn::conv_from_attrs(ctx, count), std::move(inputs));
}

// saturate(round(f32(sum) · multiplier) + zero_point).
ValueId requantize(NodeContext& ctx, ValueId sum, ValueId multiplier, ValueId zero_point) {
  const ValueId y = nn::binary(ctx, ops::BinaryFn::Mul, nn::cast(ctx, sum, DType::F32), multiplier);
  return nn::quantize(ctx, y, nn::f32(ctx, 1), zero_point, nn::quantized_type(ctx, zero_point));
}

// a_scale · b_scale / y_scale in f32.
ValueId multiplier(NodeContext& ctx, ValueId a, ValueId b, ValueId y) {
  const auto wide = [&](ValueId v) { return nn::cast(ctx, v, DType::F32); };
  return nn::binary(ctx, ops::BinaryFn::Div, nn::binary(ctx, ops::BinaryFn::Mul, wide(a), wide(b)),
                    wide(y));
}

}  // namespace

std::vector<ValueId> import_conv_integer(NodeContext& ctx) {
  return {integer_conv(ctx, 1, nn::optional_input(ctx, 2), nn::optional_input(ctx, 3), ValueId{})};
}

// Inputs x, x_scale, x_zp, w, w_scale, w_zp, y_scale, y_zp, optional bias (i32).
std::vector<ValueId> import_qlinear_conv(NodeContext& ctx) {
  const int count = nn::spatial_count(ctx, 0);
  const ValueId sum = integer_conv(ctx, 3, nn::optional_input(ctx, 2), nn::optional_input(ctx, 5),
                                   nn::optional_input(ctx, 8));
  const ValueId factor =
      multiplier(ctx, nn::as_scalar(ctx, ctx.in(1)), per_channel(ctx, ctx.in(4), count),
                 nn::as_scalar(ctx, ctx.in(6)));
  return {requantize(ctx, sum, factor, nn::as_scalar(ctx, ctx.in(7)))};
}

namespace {

// Scales and zero points of a matrix: a scalar, one a row (of a, of y) or a column (of b), or of
// the matrix' rank.
ValueId per_row(NodeContext& ctx, ValueId v) {
  if (!v.present()) return v;
  const Fact& f = ctx.graph().fact(v);
  if (is_one_element(f.shape)) return nn::as_scalar(ctx, v);
  return f.rank() == 1 ? nn::unsqueeze(ctx, v, {1}) : v;
}

ValueId per_column(NodeContext& ctx, ValueId v) {
  return v.present() && is_one_element(ctx.graph().fact(v).shape) ? nn::as_scalar(ctx, v) : v;
}

}  // namespace

std::vector<ValueId> import_matmul_integer(NodeContext& ctx) {
  const ValueId a = centred(ctx, ctx.in(0), per_row(ctx, nn::optional_input(ctx, 2)));
  const ValueId b = centred(ctx, ctx.in(1), per_column(ctx, nn::optional_input(ctx, 3)));
  return {ops::matmul(ctx.graph(), ctx.fresh_name(), a, b)};
}

// Inputs a, a_scale, a_zp, b, b_scale, b_zp, y_scale, y_zp.
std::vector<ValueId> import_qlinear_matmul(NodeContext& ctx) {
  const ValueId a = centred(ctx, ctx.in(0), per_row(ctx, ctx.in(2)));
  const ValueId b = centred(ctx, ctx.in(3), per_column(ctx, ctx.in(5)));
  const ValueId sum = ops::matmul(ctx.graph(), ctx.fresh_name(), a, b);
  const ValueId factor =
      multiplier(ctx, per_row(ctx, ctx.in(1)), per_column(ctx, ctx.in(4)), per_row(ctx, ctx.in(6)));
  const ValueId zero_point = per_row(ctx, ctx.in(7));
  if (ctx.graph().fact(zero_point).rank() == 0) return {requantize(ctx, sum, factor, zero_point)};
  // Several zero points: added after rounding, then only saturated.
  ValueId y = nn::binary(ctx, ops::BinaryFn::Mul, nn::cast(ctx, sum, DType::F32), factor);
  y = ops::unary(ctx.graph(), ctx.fresh_name(), ops::UnaryFn::Round, y);
  y = nn::binary(ctx, ops::BinaryFn::Add, y, nn::cast(ctx, zero_point, DType::F32));
  return {nn::quantize(ctx, y, nn::f32(ctx, 1), ValueId{}, ctx.graph().fact(zero_point).dtype)};
}

namespace {

// A parameter that has one element or one a column of b (of a: one a row), or is not there.
ValueId checked_parameter(NodeContext& ctx, std::size_t i, std::string_view name, bool of_b) {
  const ValueId v = nn::optional_input(ctx, i);
  if (!v.present()) return v;
  const SymShape& shape = ctx.graph().fact(v).shape;
  const SymShape& matrix = ctx.fact(of_b ? 1 : 0).shape;
  const bool single = is_one_element(shape) && shape.size() <= 1;
  const auto rank = matrix.size();
  const bool fits =
      rank >= 2 && shape.size() == 1 && shape[0] == matrix[of_b ? rank - 1 : rank - 2];
  check(single || fits, ErrorKind::Shape,
        "{} has shape {}, expected one element or one a {} of {} {}", name, str(shape),
        of_b ? "column" : "row", of_b ? "b" : "a", str(matrix));
  return of_b ? per_column(ctx, v) : per_row(ctx, v);
}

// f32(a · b) · (a_scale · b_scale) + bias in the dtype of the scales, with a and b centred already.
ValueId scaled_product(NodeContext& ctx, ValueId a, ValueId b, ValueId a_scale, std::size_t b_scale,
                       std::size_t bias) {
  const DType dtype = ctx.fact(b_scale).dtype;
  const auto wide = [&](ValueId v) { return nn::cast(ctx, v, DType::F32); };
  const ValueId sum = ops::matmul(ctx.graph(), ctx.fresh_name(), a, b);
  const ValueId factor = nn::binary(ctx, ops::BinaryFn::Mul, wide(a_scale),
                                    wide(checked_parameter(ctx, b_scale, "b_scale", true)));
  ValueId y = nn::binary(ctx, ops::BinaryFn::Mul, wide(sum), factor);
  if (const ValueId added = nn::optional_input(ctx, bias); added.present()) {
    const SymShape &columns = ctx.fact(1).shape, &given = ctx.graph().fact(added).shape;
    check(!columns.empty() && given == SymShape{columns.back()}, ErrorKind::Shape,
          "bias has shape {}, expected one element a column of b {}", str(given), str(columns));
    y = nn::binary(ctx, ops::BinaryFn::Add, y, wide(added));
  }
  return nn::cast(ctx, y, dtype);
}

}  // namespace

// Inputs a, b, a_scale, b_scale, optional a_zp, b_zp, bias.
std::vector<ValueId> import_matmul_integer_to_float(NodeContext& ctx) {
  const ValueId a = centred(ctx, ctx.in(0), checked_parameter(ctx, 4, "a_zero_point", false));
  const ValueId b = centred(ctx, ctx.in(1), checked_parameter(ctx, 5, "b_zero_point", true));
  return {scaled_product(ctx, a, b, checked_parameter(ctx, 2, "a_scale", false), 3, 6)};
}

// Inputs a, a_scale, a_zp, b, b_scale, b_zp, optional c (i32, in units of the product), y_scale,
// y_zp; f32 without a scale of y. Scale and zero point of b: one element or one a column.
std::vector<ValueId> import_qgemm(NodeContext& ctx) {
  check(ctx.fact(0).rank() == 2 && ctx.fact(3).rank() == 2, ErrorKind::Shape,
        "a has shape {}, b {}, expected matrices", str(ctx.fact(0).shape), str(ctx.fact(3).shape));
  const auto turned = [&](ValueId v, const char* name) {
    if (ctx.int_attr(name, 0) == 0) return v;
    return ops::transpose(ctx.graph(), ctx.fresh_name(), v, {1, 0});
  };
  const ValueId wide_b = nn::cast(ctx, ctx.in(3), DType::I32);
  const ValueId a = turned(centred(ctx, ctx.in(0), nn::as_scalar(ctx, ctx.in(2))), "transA");
  const ValueId b = nn::binary(ctx, ops::BinaryFn::Sub, turned(wide_b, "transB"),
                               nn::cast(ctx, per_column(ctx, ctx.in(5)), DType::I32));
  ValueId sum = ops::matmul(ctx.graph(), ctx.fresh_name(), a, b);
  if (const ValueId c = nn::optional_input(ctx, 6); c.present()) {
    check(ctx.graph().fact(c).dtype == DType::I32, ErrorKind::Type,
          "input 6 'C' is {}, expected i32", ctx.graph().fact(c).str());
    sum = nn::binary(ctx, ops::BinaryFn::Add, sum, c);
  }
  const ValueId y_scale = nn::optional_input(ctx, 7);
  const ValueId alpha = nn::f32(ctx, static_cast<float>(ctx.float_attr("alpha", 1)));
  const ValueId factor =
      multiplier(ctx, nn::binary(ctx, ops::BinaryFn::Mul, alpha, nn::as_scalar(ctx, ctx.in(1))),
                 per_column(ctx, ctx.in(4)),
                 y_scale.present() ? nn::as_scalar(ctx, y_scale) : nn::f32(ctx, 1));
  if (y_scale.present()) return {requantize(ctx, sum, factor, nn::as_scalar(ctx, ctx.in(8)))};
  return {nn::binary(ctx, ops::BinaryFn::Mul, nn::cast(ctx, sum, DType::F32), factor)};
}

// Inputs a (f32, quantised as DynamicQuantizeLinear does), b, b_scale, optional b_zp, bias.
std::vector<ValueId> import_dynamic_quantize_matmul(NodeContext& ctx) {
  const std::vector<ValueId> a = import_dynamic_quantize_linear(ctx);
  const ValueId b = centred(ctx, ctx.in(1), checked_parameter(ctx, 3, "b_zero_point", true));
  return {scaled_product(ctx, centred(ctx, a[0], a[2]), b, a[1], 2, 4)};
}

}  // namespace treadle::onnx
