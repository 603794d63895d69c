// Products with weights of 4 or 8 bits in blocks on a device: which kernels.
//
//   block_gemv     up to 8 rows, straight from the blocks
//   block_unpack   more: parts of the columns are dequantised, each then a matrix product
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gemm_plan.hpp"

namespace treadle::gpu {

// y[m, n] = Σ_k x[m, k] (number(n, k) − zero(n, k / block_size)) scale(n, k / block_size), in f32.
// Rows of x are K apart; those of y and of the residual as the epilogue says.
struct BlockDesc {
  std::int64_t M = 1, N = 1, K = 1;
  std::int64_t block_size = 32;  // a power of two from 16 on
  int bits = 4;
  bool zeros = false;  // zero points are given; otherwise 2^(bits - 1)
};

// Constant weights as the kernels read them. numbers [N, blocks, block_size · bits / 8], scales [N,
// blocks], zeros [N, ⌈blocks · bits / 8⌉], the lowest bits of a byte first.
std::vector<std::byte> pack_blocks(const BlockDesc& desc, const std::uint8_t* numbers,
                                   std::span<const float> scales, const std::uint8_t* zeros);

class BlockPlan {
 public:
  // For f32 and f16 tensors. `variant` "gemv" (up to 8 rows) or "unpack" overrides the choice, with
  // "/n" for at most n columns a part. Throws Shape error for sizes that do not fit, Unsupported
  // for dtypes, bits and variants that this product does not have.
  BlockPlan(const BlockDesc& desc, DType type, const EpilogueDesc& epilogue = {},
            std::string_view variant = {});

  // "block_gemv_4" (up to 4 rows; "block_gemv_4/2" with two splits of K) or "block_unpack/3" (three
  // parts of the columns).
  const std::string& name() const { return name_; }
  std::size_t workspace_bytes() const;

  // `right` is what pack_blocks() made, aligned to 16 bytes.
  PreparedLaunches prepare(const ProductAddresses& at, DeviceAddress workspace,
                           const char* label) const;
  void run(Queue& queue, const ProductAddresses& at, DeviceAddress workspace,
           const char* label) const;

 private:
  void prepare_few(const ProductAddresses& at, DeviceAddress workspace, const char* label,
                   PreparedLaunches& all) const;
  void prepare_part(std::int64_t first, const ProductAddresses& at, DeviceAddress workspace,
                    const char* label, PreparedLaunches& all) const;
  GemmPlan product_of(std::int64_t columns) const;

  BlockDesc desc_;
  DType type_;
  EpilogueDesc epilogue_;
  std::string name_;
  TileChoice choice_;         // of few rows
  std::int64_t columns_ = 0;  // a part, of many; 0: few
  KernelId kernel_ = KernelId::kCount;
};

}  // namespace treadle::gpu
