// The inner kernels of products with block-quantised weights: a panel of columns as many as a
// register has lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_features.hpp"

namespace treadle::kernels {

inline constexpr int kMaxDotRows = 8;

// Weight (k, j) of a panel is (number − zero) · scale, of block k / (words_per_block · numbers a
// word). A word holds 32 / bits numbers of one column, neighbours along K, the lowest bits first.
// Numbers and zeros are less 2^(bits − 1) here, in two's complement.
struct BlockPanel {
  const std::uint32_t* words = nullptr;  // [words, lanes]
  const float* scales = nullptr;         // [blocks, lanes]
  const std::int8_t* zeros = nullptr;    // [blocks, lanes]; null: 0
  std::int64_t words_per_block = 0;
};

// sums[r · lanes + j] = Σ_k x[k · rows + r] · weight(k, j) over the first `words` words.
using BlockDotFn = void (*)(const BlockPanel&, std::int64_t words, const float* x, float* sums);
// out[i · stride + j] = weight(first + i, j), i < count; `first` begins a word.
using BlockUnpackFn = void (*)(const BlockPanel&, std::int64_t first, std::int64_t count,
                               float* out, std::ptrdiff_t stride);

struct BlockKernels {
  Isa isa = Isa::Generic;
  int lanes = 0;                               // those of dot_kernels()
  int rows = 0;                                // most rows of a dot
  BlockDotFn dot[3][2][kMaxDotRows + 1] = {};  // by block_kind(), whether there are zeros, rows
  BlockUnpackFn unpack[3] = {};
};

// 0, 1, 2 for 2, 4, 8 bits.
constexpr int block_kind(int bits) {
  return bits / 4;
}

// The kernels for active_isa().
const BlockKernels& block_kernels();

}  // namespace treadle::kernels
