// Batched matrix products on a device: which kernel, with which tiles.
//
//   gemv   up to 8 rows, neighbouring columns of b next to each other
//   tile   everything else
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "gpu/epilogue.hpp"
#include "gpu/prepared.hpp"
#include "gpu/tiles.hpp"

namespace treadle::gpu {

// y[b0, b1, m, n] = sum over k of a[b0, b1, m, k] b[b0, b1, k, n], in f32. Strides are in elements;
// 0 broadcasts. The columns of y and of the residual are neighbours; their rows are as far apart as
// the epilogue says. Bias and slope are one a column.
struct GemmDesc {
  std::int64_t M = 1, N = 1, K = 1;
  std::int64_t a_m = 0, a_k = 0, b_k = 0, b_n = 0;
  std::array<std::int64_t, 2> batch{1, 1};
  std::array<std::int64_t, 2> a_batch{}, b_batch{}, y_batch{}, residual_batch{};
  // Rows of b may be read up to the next multiple of four columns: as pack_matrix() makes them.
  bool b_padded = false;
};
// Contiguous operands: a is [M, K] or its transpose, b is [K, N] or its transpose; one product.
GemmDesc matrix_product(std::int64_t M, std::int64_t N, std::int64_t K, bool transpose_a = false,
                        bool transpose_b = false);

class GemmPlan {
 public:
  // For f32 and f16 tensors. `variant`, one of gemm_variants() or with "/n" for n splits of K,
  // overrides the choice. Throws Shape error for sizes that do not fit, Unsupported for dtypes and
  // variants that this product does not have.
  GemmPlan(const GemmDesc& desc, DType type, const EpilogueDesc& epilogue = {},
           std::string_view variant = {});

  // Such as "tile_64x64/4" (four splits of K) or "gemv_4".
  const std::string& name() const { return name_; }
  std::size_t workspace_bytes() const;

  // Operands aligned to 16 bytes are read fastest.
  PreparedLaunches prepare(const ProductAddresses& at, DeviceAddress workspace,
                           const char* label) const;
  void run(Queue& queue, const ProductAddresses& at, DeviceAddress workspace,
           const char* label) const;

 private:
  GemmDesc desc_;  // with batches merged into M where that is the same
  DType type_;
  EpilogueDesc epilogue_;
  std::string name_;
  TileChoice choice_;
  KernelId kernel_ = KernelId::kCount;
  bool gemv_ = false;
};

// The variants that the product has, without splits.
std::vector<std::string> gemm_variants(const GemmDesc& desc, DType type);

// A constant right-hand side, element (k, n) at from[k row + n column], for b_k = packed_stride(N),
// b_n = 1 and b_padded.
std::int64_t packed_stride(std::int64_t N);
std::vector<std::byte> pack_matrix(const float* from, std::int64_t K, std::int64_t N,
                                   std::ptrdiff_t row, std::ptrdiff_t column, DType type);

}  // namespace treadle::gpu
