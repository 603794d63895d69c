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
  // Narrow types: storage only, one byte an element whatever their width (base/narrow.hpp).
  F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, F6E2M3, F6E3M2, F4E2M1, I4, U4, I2, U2,
};
inline constexpr std::size_t kDTypes = static_cast<std::size_t>(DType::U2) + 1;

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
constexpr bool is_narrow(DType t) { return t > DType::String; }
constexpr bool is_narrow_float(DType t) { return t >= DType::F8E4M3FN && t <= DType::F4E2M1; }
constexpr bool is_narrow_integer(DType t) { return t >= DType::I4 && t <= DType::U2; }

}  // namespace treadle
