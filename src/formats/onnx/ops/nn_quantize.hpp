// Quantisation building blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/onnx/importer.hpp"

namespace treadle::onnx::nn {

// DequantizeLinear of x; `zero_point` may be omitted. A scale of one element counts as a scalar.
// The result has the scale's dtype when `to` is not given.
ValueId dequantize(NodeContext& ctx, ValueId x, ValueId scale, ValueId zero_point,
                   std::int64_t axis = 0, std::int64_t block_size = 0,
                   std::optional<DType> to = {});
// QuantizeLinear of x to `to`, with one scale.
ValueId quantize(NodeContext& ctx, ValueId x, ValueId scale, ValueId zero_point, DType to);
// The dtype of a zero point, u8 when it is omitted.
DType quantized_type(NodeContext& ctx, ValueId zero_point);

}  // namespace treadle::onnx::nn

namespace treadle::onnx {

// Input 0 as u8, its scale and its zero point.
std::vector<ValueId> import_dynamic_quantize_linear(NodeContext& ctx);

}  // namespace treadle::onnx
