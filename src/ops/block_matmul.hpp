#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// A product with weights of 2, 4 or 8 bits, quantised in blocks along the summed axis, that stay as
// they are. Inputs: x [..., K] of f16, bf16 or f32; weights u8 [N, blocks, block_size · bits / 8],
// the lowest bits of a byte first, blocks = ⌈K / block_size⌉; scales [N, blocks] of x's dtype or
// f32; optional zero points u8 [N, ⌈blocks · bits / 8⌉], packed in the same way, else 2^(bits − 1)
// each. What fills the last block and byte is not read. Output [..., N] of x's dtype:
//
//   y[..., n] = Σ_k x[..., k] · (weight[n, k] − zero_point[n, k / block_size]) · scale[n, k /
//   block_size]
//
// Sums are held in f32 at least. Devices may round the dequantised weights to x's dtype.
class BlockMatMul final : public Operator {
 public:
  BlockMatMul(std::int64_t size, std::int64_t block, std::int64_t width)
      : K(size), block_size(block), bits(width) {}
  std::int64_t K, block_size, bits;

  std::int64_t blocks() const { return (K - 1) / block_size + 1; }
  // Bytes of a block, and of the zero points of a column.
  std::int64_t block_bytes() const { return block_size / 8 * bits; }
  std::int64_t zero_point_bytes() const { return (blocks() * bits + 7) / 8; }

  TREADLE_OPERATOR(BlockMatMul);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
};

}  // namespace treadle::ops
