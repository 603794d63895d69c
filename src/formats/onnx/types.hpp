// ONNX element types.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.hpp"

namespace treadle::onnx {

// "float", "int4", "float8e4m3fn"; "element type 999" for a number that stands for nothing.
std::string onnx_type_name(std::int64_t elem_type);
// The DType of a TensorProto.DataType. Throws Parse error for undefined and unknown numbers.
DType dtype_of_onnx(std::int64_t elem_type);
// The TensorProto.DataType of a DType.
std::int64_t onnx_type_of(DType dtype);

}  // namespace treadle::onnx
