// Numbers of 2, 4 or 8 bits, several to a byte.
#pragma once

#include "formats/onnx/importer.hpp"

namespace treadle::onnx::nn {

// u8 [..., n] as u8 [..., n · 8 / bits], the lowest bits of a byte first.
ValueId unpacked(NodeContext& ctx, ValueId bytes, std::int64_t bits);

}  // namespace treadle::onnx::nn
