// Elements of packed weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.hpp"
#include "base/half.hpp"

namespace treadle::gpu {

// Element `index` of a buffer of F32, F16 or BF16, rounded to nearest even.
inline void store_as(DType type, std::byte* to, std::int64_t index, float value) {
  if (type == DType::F32) {
    std::memcpy(to + index * 4, &value, 4);
  } else {
    const std::uint16_t bits = type == DType::F16 ? f32_to_f16(value) : f32_to_bf16(value);
    std::memcpy(to + index * 2, &bits, 2);
  }
}

}  // namespace treadle::gpu
