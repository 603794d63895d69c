// What reference loops need to know about element types.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/half.hpp"

namespace treadle::ops {

// The type that arithmetic on elements of type T is done in: f32 for the 16-bit floats.
template <typename T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<Half> {
  using type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using type = float;
};
template <typename T>
using compute_t = typename ComputeOf<T>::type;

template <typename T>
inline constexpr bool is_real_v = std::is_floating_point_v<compute_t<T>>;
template <typename T>
inline constexpr bool is_int_v = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <typename T>
inline compute_t<T> widen(T v) {
  return static_cast<compute_t<T>>(v);
}

// A float to an integer: truncates, saturates, NaN gives 0.
template <std::integral T, std::floating_point F>
inline T saturate(F v) {
  constexpr F kLow = static_cast<F>(std::numeric_limits<T>::min());
  constexpr F kHigh =
      static_cast<F>(std::uint64_t{1} << (std::numeric_limits<T>::digits - 1)) * F{2};
  if (std::isnan(v)) return 0;
  if (v <= kLow) return std::numeric_limits<T>::min();
  if (v >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

// f64 to f32, inexact results rounded to the odd neighbour, so that a second rounding to a 16-bit
// float is right.
inline float round_to_odd(double d) {
  float f = static_cast<float>(d);
  if (std::isnan(d) || std::isinf(f) || static_cast<double>(f) == d) return f;
  auto bits = std::bit_cast<std::uint32_t>(f);
  if (std::fabs(static_cast<double>(f)) > std::fabs(d)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

// A number to an element: non-zero is true, floats round to nearest even, float to integer
// saturates, integer to integer wraps.
template <typename T, typename F>
inline T convert(F v) {
  if constexpr (std::is_same_v<T, F>) {
    return v;
  } else if constexpr (std::is_same_v<T, bool>) {
    return v != F{0};
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    if constexpr (std::is_same_v<F, float>) return T(v);
    return T(round_to_odd(static_cast<double>(v)));
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<F>) {
    return saturate<T>(v);
  } else {
    return static_cast<T>(v);
  }
}

// The type that sums are held in: f16 and bf16 sum in f32, f32 and f64 in f64, integers modulo 2^64
// (and so modulo their own width).
template <typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float,
                       std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>>;

template <typename T>
Accumulator<T> to_accumulator(T v) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  } else {
    return static_cast<Accumulator<T>>(v);
  }
}

template <typename T>
T from_accumulator(Accumulator<T> v) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(v);
  } else if constexpr (std::is_same_v<T, double>) {
    return v;
  } else {
    return static_cast<T>(static_cast<float>(v));
  }
}

// Integer arithmetic that wraps.
template <std::integral T>
inline T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <std::integral T>
inline T wrap_sub(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <std::integral T>
inline T wrap_mul(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// The smaller or larger; a NaN wins.
template <typename C>
inline C nan_min(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (a != a) return a;
    if (b != b) return b;
  }
  return b < a ? b : a;
}
template <typename C>
inline C nan_max(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (a != a) return a;
    if (b != b) return b;
  }
  return a < b ? b : a;
}

}  // namespace treadle::ops
