// Matrix products and convolutions of i32 tensors, sums modulo 2^32: for integer operators that the
// packed 8-bit kernels do not serve.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/threads.hpp"
#include "kernels/conv/conv.hpp"

namespace treadle::kernels {

// C[m, n] = Σ_k A[m, k] B[k, n]; strides in elements, the columns of C lie side by side.
struct ProductI32Args {
  std::int64_t m = 0, n = 0, k = 0;
  const std::int32_t* a = nullptr;
  std::ptrdiff_t a_row = 0, a_column = 1;
  const std::int32_t* b = nullptr;
  std::ptrdiff_t b_row = 0, b_column = 1;
  std::int32_t* c = nullptr;
  std::ptrdiff_t c_row = 0;
};
void product_i32(const ProductI32Args& args, Parallel& parallel);

// Bytes that conv_i32 needs: the weights in the order in which it reads them.
std::size_t conv_i32_workspace_bytes(const ConvDesc& desc);
// Channels last, as kernels/conv/conv.hpp says it; bias may be null.
void conv_i32(const ConvDesc& desc, const std::int32_t* x, const std::int32_t* weights,
              const WeightStrides& strides, const std::int32_t* bias, std::int32_t* y,
              void* workspace, Parallel& parallel);

}  // namespace treadle::kernels
