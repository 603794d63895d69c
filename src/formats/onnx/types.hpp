// ONNX element types.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.hpp"

namespace treadle::onnx {

// TensorProto.DataType codes that no DType stands for.
enum NarrowType : std::int64_t {
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

// "float", "int4", "float8e4m3fn"; "element type 999" for a number that stands for nothing.
std::string onnx_type_name(std::int64_t elem_type);
// The DType of a TensorProto.DataType. Throws Unsupported for types that treadle has not (8-bit and
// narrower floats, 4- and 2-bit integers), Parse for undefined and unknown numbers.
DType dtype_of_onnx(std::int64_t elem_type);
// The TensorProto.DataType of a DType.
std::int64_t onnx_type_of(DType dtype);

}  // namespace treadle::onnx
