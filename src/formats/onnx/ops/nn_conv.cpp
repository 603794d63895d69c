// Convolutions.
#include "formats/onnx/ops/nn_conv.hpp"
#include "base/error.hpp"
#include "formats/onnx/ops/nn_activate.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "ops/conv_transpose.hpp"

namespace treadle::onnx {

std::shared_ptr<ops::Conv> nn::conv_from_attrs(NodeContext& ctx, int count) {
  auto op = std::make_shared<ops::Conv>();
  op->strides = spatial_attr(ctx, "strides", count, 1);
  op->dilations = spatial_attr(ctx, "dilations", count, 1);
  op->padding = padding_attrs(ctx, count);
  op->group = ctx.int_attr("group", 1);
  return op;
}

void nn::check_kernel_shape(NodeContext& ctx, const SymShape& weight, int count) {
  const auto kernel = ctx.ints_attr("kernel_shape");
  if (!kernel || kernel->empty()) return;
  bool fits = kernel->size() == static_cast<std::size_t>(count) &&
              weight.size() == static_cast<std::size_t>(count) + 2;
  for (std::size_t i = 0; fits && i < kernel->size(); ++i) {
    fits = !weight[i + 2].is_const() || weight[i + 2].is((*kernel)[i]);
  }
  check(fits, ErrorKind::Shape, "attribute 'kernel_shape' is [{}], the weight has shape {}",
        fmt::join(*kernel, ", "), str(weight));
}

namespace {

// conv(x, w, b), the inputs being 0, 1 and 2.
ValueId add_conv(NodeContext& ctx) {
  const int count = nn::spatial_count(ctx, 0);
  nn::check_kernel_shape(ctx, ctx.fact(1).shape, count);
  std::vector<ValueId> inputs{ctx.in(0), ctx.in(1)};
  if (const ValueId bias = nn::optional_input(ctx, 2); bias.present()) inputs.push_back(bias);
  return ctx.add1(nn::conv_from_attrs(ctx, count), std::move(inputs));
}

}  // namespace

std::vector<ValueId> import_conv(NodeContext& ctx) {
  return {add_conv(ctx)};
}

// com.microsoft FusedConv: activation(conv(x, w, b) + z).
std::vector<ValueId> import_fused_conv(NodeContext& ctx) {
  ValueId y = add_conv(ctx);
  if (const ValueId z = nn::optional_input(ctx, 3); z.present()) {
    y = nn::binary(ctx, ops::BinaryFn::Add, y, z);
  }
  const std::string activation = ctx.string_attr("activation", "");
  if (activation.empty()) return {y};
  const auto given = ctx.floats_attr("activation_params").value_or(std::vector<double>{});
  return {nn::activate(ctx, activation, y, {given.begin(), given.end()})};
}

std::vector<ValueId> import_conv_transpose(NodeContext& ctx) {
  const int count = nn::spatial_count(ctx, 0);
  nn::check_kernel_shape(ctx, ctx.fact(1).shape, count);
  auto op = std::make_shared<ops::ConvTranspose>();
  op->strides = nn::spatial_attr(ctx, "strides", count, 1);
  op->dilations = nn::spatial_attr(ctx, "dilations", count, 1);
  op->output_padding = nn::spatial_attr(ctx, "output_padding", count, 0);
  op->padding = nn::padding_attrs(ctx, count);
  op->group = ctx.int_attr("group", 1);
  if (auto shape = ctx.ints_attr("output_shape"); shape && !shape->empty()) {
    const auto n = static_cast<std::size_t>(count);
    // Some exporters give the whole shape instead of the spatial sizes.
    if (shape->size() == n + 2) shape->erase(shape->begin(), shape->begin() + 2);
    check(shape->size() == n, ErrorKind::Parse,
          "attribute 'output_shape' has {} entries, expected {}", shape->size(), count);
    for (const std::int64_t size : *shape) {
      check(size >= 0, ErrorKind::Parse, "attribute 'output_shape' holds {}", size);
      op->output_spatial.emplace_back(size);
    }
  }
  std::vector<ValueId> inputs{ctx.in(0), ctx.in(1)};
  if (const ValueId bias = nn::optional_input(ctx, 2); bias.present()) inputs.push_back(bias);
  return {ctx.add1(std::move(op), std::move(inputs))};
}

}  // namespace treadle::onnx
