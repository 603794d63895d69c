#include "formats/onnx/types.hpp"

#include <array>
#include <string_view>

#include "base/error.hpp"

namespace treadle::onnx {
namespace {

struct TypeEntry {
  std::string_view name;
  DType dtype;
};

constexpr std::array<TypeEntry, 29> kTypes = {{
    {"undefined", DType::F32},
    {"float", DType::F32},
    {"uint8", DType::U8},
    {"int8", DType::I8},
    {"uint16", DType::U16},
    {"int16", DType::I16},
    {"int32", DType::I32},
    {"int64", DType::I64},
    {"string", DType::String},
    {"bool", DType::Bool},
    {"float16", DType::F16},
    {"double", DType::F64},
    {"uint32", DType::U32},
    {"uint64", DType::U64},
    {"complex64", DType::C64},
    {"complex128", DType::C128},
    {"bfloat16", DType::BF16},
    {"float8e4m3fn", DType::F8E4M3FN},
    {"float8e4m3fnuz", DType::F8E4M3FNUZ},
    {"float8e5m2", DType::F8E5M2},
    {"float8e5m2fnuz", DType::F8E5M2FNUZ},
    {"uint4", DType::U4},
    {"int4", DType::I4},
    {"float4e2m1", DType::F4E2M1},
    {"float8e8m0", DType::F8E8M0},
    {"uint2", DType::U2},
    {"int2", DType::I2},
    {"float6e2m3", DType::F6E2M3},
    {"float6e3m2", DType::F6E3M2},
}};

bool known(std::int64_t t) {
  return t >= 0 && t < static_cast<std::int64_t>(kTypes.size());
}

}  // namespace

std::string onnx_type_name(std::int64_t elem_type) {
  if (!known(elem_type)) return fmt::format("element type {}", elem_type);
  return std::string(kTypes[static_cast<std::size_t>(elem_type)].name);
}

DType dtype_of_onnx(std::int64_t elem_type) {
  check(known(elem_type) && elem_type != 0, ErrorKind::Parse,
        "element type {} is not an ONNX tensor element type (1 to {})", elem_type,
        kTypes.size() - 1);
  return kTypes[static_cast<std::size_t>(elem_type)].dtype;
}

std::int64_t onnx_type_of(DType dtype) {
  for (std::size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].dtype == dtype) return static_cast<std::int64_t>(i);
  }
  fail(ErrorKind::Internal, "dtype {} has no ONNX element type", name_of(dtype));
}

}  // namespace treadle::onnx
