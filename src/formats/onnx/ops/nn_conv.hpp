// Convolution attributes, shared by the float and the integer importers.
#pragma once

#include <memory>

#include "formats/onnx/importer.hpp"
#include "ops/conv.hpp"

namespace treadle::onnx::nn {

// strides, dilations, pads, auto_pad and group for `count` spatial axes.
std::shared_ptr<ops::Conv> conv_from_attrs(NodeContext& ctx, int count);
// Throws Shape error when the attribute kernel_shape contradicts a weight [.., .., k…].
void check_kernel_shape(NodeContext& ctx, const SymShape& weight, int count);

}  // namespace treadle::onnx::nn
