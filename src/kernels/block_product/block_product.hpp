// Products with weights of 2, 4 or 8 bits in blocks: Y[rows, N] = epilogue(X[rows, K] · W), where
// W[k, n] = (number(n, k) − zero(n, block)) · scale(n, block), block = k / block_size. Sums are
// f32.
//
// Few rows are multiplied straight from the packed numbers, a block's sum being scaled once; for
// more, a part of the columns at a time is unpacked into the panels of kernels/gemm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.hpp"
#include "base/threads.hpp"
#include "kernels/epilogue.hpp"

namespace treadle::kernels {

struct BlockShape {
  std::int64_t N = 0, K = 0;    // K >= 1
  std::int64_t block_size = 0;  // a power of two from 16 on
  int bits = 0;                 // 2, 4 or 8
  bool zeros = false;           // zero points are given; otherwise 2^(bits − 1)

  std::int64_t blocks() const { return (K - 1) / block_size + 1; }
  std::int64_t words() const { return (K - 1) / (32 / bits) + 1; }  // that K reaches into
};

// How ONNX has them: numbers [N, blocks, block_size · bits / 8], zero points [N, ⌈blocks · bits /
// 8⌉], the lowest bits of a byte first.
struct BlockSource {
  const std::uint8_t* numbers = nullptr;
  const void* scales = nullptr;   // [N, blocks]
  DType scale_type = DType::F32;  // or F16, BF16
  const std::uint8_t* zeros = nullptr;
};

// Bytes of the packed form: the numbers, f32 scales and zero points of a byte each, columns rounded
// up to whole registers. The form belongs to active_isa(). Throws Shape error on overflow.
std::size_t packed_block_bytes(const BlockShape& shape);
// `out` is aligned for float.
void pack_blocks(const BlockShape& shape, const BlockSource& source, void* out, Parallel& parallel);

struct BlockProductArgs {
  BlockShape shape;
  const void* packed = nullptr;
  std::int64_t rows = 0;
  const float* x = nullptr;  // rows K apart
  float* y = nullptr;        // rows N apart
  Epilogue epilogue;
};

// Bytes that block_product() needs for these sizes with so many threads.
std::size_t block_product_workspace_bytes(const BlockProductArgs& args, int threads);
// Whether the rows are few enough to be multiplied from the packed numbers.
bool is_block_gemv(const BlockProductArgs& args);
// `workspace` is aligned for float. y overlaps neither x nor the residual.
void block_product(const BlockProductArgs& args, void* workspace, Parallel& parallel);

}  // namespace treadle::kernels
