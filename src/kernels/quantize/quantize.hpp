// f32 to 8-bit integers and back, with one scale and zero point or one for each index of an axis.
#pragma once

#include <cstdint>

#include "base/threads.hpp"
#include "kernels/math/rows.hpp"
#include "kernels/math/split.hpp"

namespace treadle::kernels {

// scale and zero hold one value for each index of the middle axis; zero null: 0.
// y = saturate(round_half_even(x / scale) + zero); NaN gives zero.
void quantize(const Rows& table, const Split& s, const float* x, const float* scale,
              const std::uint8_t* zero, std::uint8_t* y, Parallel& parallel);
void quantize(const Rows& table, const Split& s, const float* x, const float* scale,
              const std::int8_t* zero, std::int8_t* y, Parallel& parallel);
// y = (x − zero) · scale.
void dequantize(const Rows& table, const Split& s, const std::uint8_t* x, const float* scale,
                const std::uint8_t* zero, float* y, Parallel& parallel);
void dequantize(const Rows& table, const Split& s, const std::int8_t* x, const float* scale,
                const std::int8_t* zero, float* y, Parallel& parallel);

}  // namespace treadle::kernels
