// The type in which the reference implementations sum.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/half.hpp"

namespace treadle::ops {

// f16 and bf16 sum in f32, f32 and f64 in f64, integers modulo 2^64 (and so modulo their own
// width).
template <typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float,
                       std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>>;

template <typename T>
Accumulator<T> widen(T v) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  } else {
    return static_cast<Accumulator<T>>(v);
  }
}

template <typename T>
T narrow(Accumulator<T> v) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(v);
  } else if constexpr (std::is_same_v<T, double>) {
    return v;
  } else {
    return static_cast<T>(static_cast<float>(v));
  }
}

}  // namespace treadle::ops
