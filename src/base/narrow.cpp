#include "base/narrow.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace treadle {
namespace {

constexpr std::size_t kFloats =
    static_cast<std::size_t>(DType::F4E2M1) - static_cast<std::size_t>(DType::F8E4M3FN) + 1;

// What the codes beyond the finite ones mean.
enum class Special : std::uint8_t {
  Finite,    // nothing: all codes are numbers
  Nan,       // S.111…1 is NaN
  Infinity,  // as IEEE 754: infinities and NaN
  NoZero,    // the code of −0 is NaN
};

struct Format {
  int mantissa, bias;
  std::uint8_t sign;     // the sign's bit
  std::uint8_t largest;  // code of the largest number
  Special special;
};

// In the order of DType; f8e8m0 is apart.
constexpr std::array<Format, kFloats> kFormats = {{
    {3, 7, 0x80, 0x7e, Special::Nan},
    {3, 8, 0x80, 0x7f, Special::NoZero},
    {2, 15, 0x80, 0x7b, Special::Infinity},
    {2, 16, 0x80, 0x7f, Special::NoZero},
    {0, 127, 0, 0xfe, Special::Nan},
    {3, 1, 0x20, 0x1f, Special::Finite},
    {2, 3, 0x20, 0x1f, Special::Finite},
    {1, 1, 0x8, 0x7, Special::Finite},
}};

std::size_t index_of(DType t) {
  return static_cast<std::size_t>(t) - static_cast<std::size_t>(DType::F8E4M3FN);
}

float power_value(unsigned code) {
  if (code == 0xff) return std::numeric_limits<float>::quiet_NaN();
  // 2^-127 is a denormal; written by its bits, it survives where arithmetic flushes those.
  return std::bit_cast<float>(code == 0 ? 0x00400000u : code << 23);
}

float value_of(const Format& f, unsigned code) {
  const unsigned magnitude = code & (f.sign - 1u);
  const bool negative = (code & f.sign) != 0;
  if (f.special == Special::NoZero && negative && magnitude == 0)
    return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > f.largest) {
    const bool infinite = f.special == Special::Infinity && magnitude == f.largest + 1u;
    const float v =
        infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return negative ? -v : v;
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa);
  const int fraction = static_cast<int>(magnitude & ((1u << f.mantissa) - 1));
  const int lowest = 1 - f.bias - f.mantissa;
  const float v = exponent == 0 ? std::ldexp(static_cast<float>(fraction), lowest)
                                : std::ldexp(static_cast<float>(fraction + (1 << f.mantissa)),
                                             lowest + exponent - 1);
  return negative ? -v : v;
}

std::array<float, 256> values_of(DType t) {
  std::array<float, 256> out{};
  const Format& f = kFormats[index_of(t)];
  for (unsigned code = 0; code < out.size(); ++code) {
    if (t == DType::F8E8M0)
      out[code] = power_value(code);
    else
      out[code] = value_of(f, code & (2u * f.sign - 1));
  }
  return out;
}

// The exponent of |v| as f8e8m0 holds it. A denormal of f32 has exponent field 0, that is 2^-127.
std::uint8_t power_code(float v, const NarrowRounding& rounding) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v) & 0x7fffffffu;
  if (bits > 0x7f800000u) return 0xff;
  if (bits == 0x7f800000u) return rounding.saturate ? 0xfe : 0xff;
  std::uint32_t exponent = bits >> 23;
  const std::uint32_t fraction = bits & 0x7fffffu;
  // Denormals: 2^-127 itself is the fraction 0x400000; the next power is 2^-126.
  const std::uint32_t exact = exponent == 0 ? 0x400000u : 0u;
  if (exponent == 0 && fraction < exact) {
    // Below the smallest power. Zero has none either.
    return rounding.saturate || (fraction != 0 && rounding.power == PowerRounding::Up) ? 0 : 0xff;
  }
  const std::uint32_t half = exponent == 0 ? 0x600000u : 0x400000u;
  if (rounding.power == PowerRounding::Up) exponent += fraction > exact;
  if (rounding.power == PowerRounding::Nearest) exponent += fraction >= half;
  if (exponent == 0xff && rounding.saturate) return 0xfe;
  return static_cast<std::uint8_t>(exponent);
}

}  // namespace

const std::array<float, 256>& narrow_values(DType t) {
  static const auto tables = [] {
    std::array<std::array<float, 256>, kFloats> all{};
    for (std::size_t i = 0; i < kFloats; ++i) {
      all[i] = values_of(static_cast<DType>(i + static_cast<std::size_t>(DType::F8E4M3FN)));
    }
    return all;
  }();
  return tables[index_of(t)];
}

std::uint8_t narrow_code(DType t, float v, const NarrowRounding& rounding) {
  if (t == DType::F8E8M0) return power_code(v, rounding);
  const Format& f = kFormats[index_of(t)];
  const std::uint8_t sign = std::signbit(v) ? f.sign : std::uint8_t{0};
  if (std::isnan(v)) {
    if (f.special == Special::Finite || f.special == Special::NoZero) return f.sign;
    return static_cast<std::uint8_t>(sign | (f.sign - 1u));
  }
  unsigned code = f.largest + 1u;
  if (!std::isinf(v)) {
    // |v| in units of the last place, where numbers below the smallest normal one share its unit;
    // a carry out of the mantissa then counts the exponent up by itself.
    const double magnitude = std::fabs(static_cast<double>(v));
    const int smallest = 1 - f.bias;
    const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), smallest) : smallest;
    const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent));
    const double wide = units + std::ldexp(static_cast<double>(exponent - smallest), f.mantissa);
    if (wide <= f.largest) code = static_cast<unsigned>(wide);
  }
  if (code > f.largest) {
    if (rounding.saturate || f.special == Special::Finite) {
      code = f.largest;
    } else if (f.special == Special::NoZero) {
      return f.sign;
    }
  }
  if (code == 0 && f.special == Special::NoZero) return 0;
  return static_cast<std::uint8_t>(sign | code);
}

int bits_of_narrow(DType t) {
  if (t <= DType::F8E8M0) return 8;
  if (t <= DType::F6E3M2) return 6;
  return t == DType::I2 || t == DType::U2 ? 2 : 4;
}

std::uint8_t wrap_narrow(DType t, std::uint64_t v) {
  const int bits = bits_of_narrow(t);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  v &= mask;
  if (byte_of_narrow_integer(t) == DType::I8 && (v >> (bits - 1)) != 0) v |= ~mask;
  return static_cast<std::uint8_t>(v);
}

std::int32_t narrow_min(DType t) {
  return byte_of_narrow_integer(t) == DType::I8 ? -(1 << (bits_of_narrow(t) - 1)) : 0;
}

std::int32_t narrow_max(DType t) {
  const int bits = bits_of_narrow(t);
  return (1 << (byte_of_narrow_integer(t) == DType::I8 ? bits - 1 : bits)) - 1;
}

}  // namespace treadle
