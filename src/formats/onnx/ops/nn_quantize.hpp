// Quantisation building blocks.
#pragma once

#include <cstdint>

#include "formats/onnx/importer.hpp"

namespace treadle::onnx::nn {

// DequantizeLinear of x; `zero_point` may be omitted. A scale of one element counts as a scalar.
ValueId dequantize(NodeContext& ctx, ValueId x, ValueId scale, ValueId zero_point,
                   std::int64_t axis = 0, std::int64_t block_size = 0);
// QuantizeLinear of x to `to`.
ValueId quantize(NodeContext& ctx, ValueId x, ValueId scale, ValueId zero_point, DType to,
                 std::int64_t axis = 0, std::int64_t block_size = 0);
// The dtype of a zero point, u8 when it is omitted.
DType quantized_type(NodeContext& ctx, ValueId zero_point);

}  // namespace treadle::onnx::nn
