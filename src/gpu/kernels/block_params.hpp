// Parameters of products with weights in blocks.
#pragma once

#include "gpu/kernels/conv_params.hpp"

namespace tk {

// Words [words, stride] of one column each, whose numbers are neighbours along K, the lowest bits
// first; scales [blocks, stride]; zero points [blocks, stride], a byte each. `stride` is the count
// of columns, rounded up to a multiple of four.
struct BlockParams {
  tk_i64 scales_at, zeros_at;  // from the words on, in words
  tk_i32 stride, words;
  tk_i32 block_shift;  // a block has 2^block_shift words
  tk_i32 zeros;        // whether there are zero points; otherwise 2^(bits - 1)
};

struct BlockGemvParams {
  GemmParams gemm;  // without batches; nothing of b
  BlockParams blocks;
};
static_assert(sizeof(BlockGemvParams) == sizeof(GemmParams) + 32, "no padding");

struct BlockUnpackParams {
  BlockParams blocks;
  tk_divisor groups;  // of four columns
  tk_i32 threads;     // with work: words times groups
  tk_i32 first;       // column, a multiple of four
  tk_i32 K;
  tk_i32 b_k;  // of the result: elements from one position of K to the next
  tk_i32 unused;
};
static_assert(sizeof(BlockUnpackParams) == 32 + 12 + 20, "no padding");

}  // namespace tk
