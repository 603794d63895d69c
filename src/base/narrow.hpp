// The codes of the narrow element types: floats of 8 bits and fewer (OCP 8-bit and microscaling
// formats, and the "fnuz" forms of arXiv:2206.02915), integers of 4 and 2 bits. A tensor holds one
// byte an element: a float's code in the low bits, an integer sign-extended.
#pragma once

#include <array>
#include <cstdint>

#include "base/dtype.hpp"

namespace treadle {

// How a power of two (f8e8m0) rounds: to the next one, to the one below, to the nearer one (what
// lies half way goes up).
enum class PowerRounding : std::uint8_t { Up, Down, Nearest };

// What is out of a float format's range becomes its largest number, or, unless `saturate`, infinity
// or NaN as the format has it; formats without either saturate always, and their NaN is −0.
struct NarrowRounding {
  bool saturate = true;
  PowerRounding power = PowerRounding::Up;
};

// The value of each code of a narrow float type; codes beyond the type's width stand for what their
// low bits do.
const std::array<float, 256>& narrow_values(DType t);
// The code nearest to v, ties to even; for f8e8m0 as `rounding` says, of |v|.
std::uint8_t narrow_code(DType t, float v, const NarrowRounding& rounding);

// Bits of one element: 8, 6, 4 or 2; and the byte type that holds a narrow integer.
int bits_of_narrow(DType t);
constexpr DType byte_of_narrow_integer(DType t) {
  return t == DType::I4 || t == DType::I2 ? DType::I8 : DType::U8;
}
// The low bits of v as a narrow integer, sign-extended to a byte.
std::uint8_t wrap_narrow(DType t, std::uint64_t v);
// Least and largest value of a narrow integer type.
std::int32_t narrow_min(DType t);
std::int32_t narrow_max(DType t);

}  // namespace treadle
