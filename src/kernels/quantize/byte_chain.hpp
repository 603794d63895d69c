// Functions of 8-bit tensors that are dequantised, computed on in f32 and quantised again, without
// a tensor of f32 in between.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/threads.hpp"
#include "kernels/math/rows.hpp"

namespace treadle::kernels {

using ByteTable = std::array<std::uint8_t, 256>;
// y[i] = table[x[i]]; x and y may be the same.
void look_up(const ByteTable& table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n,
             Parallel& parallel);

// How the bytes of a tensor stand for numbers: (byte − zero) · scale.
struct ByteScale {
  float scale = 1;
  std::int32_t zero = 0;
  bool is_signed = false;
};

// y = quantise(fn(a, b)), or quantise(a) where there is no fn; clamped to the bytes low to high.
struct CombineBytes {
  std::optional<Fn2> fn;
  ByteScale a, b, y;
  std::int32_t low = 0, high = 255;
};
// y may be a or b; without fn, b is not looked at.
void combine_bytes(const Rows& table, const CombineBytes& args, const void* a, const void* b,
                   void* y, std::int64_t n, Parallel& parallel);

}  // namespace treadle::kernels
