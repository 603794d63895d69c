// Pooling attributes, shared by the float and the integer importers.
#pragma once

#include <memory>

#include "formats/onnx/importer.hpp"
#include "ops/pool.hpp"

namespace treadle::onnx::nn {

// kernel_shape (required), strides, dilations, pads, auto_pad and ceil_mode.
std::shared_ptr<ops::Pool> pool_from_attrs(NodeContext& ctx, ops::PoolKind kind, int count);

}  // namespace treadle::onnx::nn
