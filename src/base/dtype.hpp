// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace treadle {

// The order is stable: it is used in saved artefacts and as a table index.
enum class DType : std::uint8_t {
  Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128, String,
};

// Bytes of one element; a string element is a std::string object.
std::size_t size_of(DType t);
// "bool", "i8", … "f32", "c64", "string".
std::string_view name_of(DType t);
std::optional<DType> dtype_from_name(std::string_view name);

constexpr bool is_float(DType t) {
  return t == DType::F16 || t == DType::BF16 || t == DType::F32 || t == DType::F64;
}
constexpr bool is_integer(DType t) { return t >= DType::I8 && t <= DType::U64; }
constexpr bool is_signed_integer(DType t) { return t >= DType::I8 && t <= DType::I64; }
constexpr bool is_complex(DType t) { return t == DType::C64 || t == DType::C128; }

}  // namespace treadle
