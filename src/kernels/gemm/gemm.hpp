// Matrix products in f32: C[M,N] = epilogue(A[M,K] B[K,N]) with B packed beforehand, and batches
// whose B is packed on the way. K = 0 gives zero before the epilogue. Nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/threads.hpp"
#include "kernels/epilogue.hpp"

namespace treadle::kernels {

// Floats of the packed form of B[K,N]. The form belongs to active_isa(): pack and multiply with the
// same one. Throws Shape error on overflow.
std::size_t packed_b_floats(std::int64_t k, std::int64_t n);

// Packs b[i * row_stride + j * col_stride], i < k, j < n; out holds packed_b_floats(k, n).
void pack_b(const float* b, std::ptrdiff_t row_stride, std::ptrdiff_t col_stride, std::int64_t k,
            std::int64_t n, float* out);

struct GemmArgs {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::ptrdiff_t lda = 0;           // between rows of A
  std::ptrdiff_t a_col_stride = 1;  // other than 1: rows are copied into strips first
  const float* packed_b = nullptr;
  float* c = nullptr;
  std::ptrdiff_t ldc = 0;
  Epilogue epilogue;
  bool accumulate = false;  // adds what C holds, before the epilogue
};

// Bytes that gemm() needs for these sizes and strides with so many threads; often 0.
std::size_t gemm_workspace_bytes(const GemmArgs& args, int threads);

// `workspace` is aligned for float. A, C and the residual do not overlap, but for residual == C.
void gemm(const GemmArgs& args, void* workspace, Parallel& parallel);
// With B packed for `kernels`.
struct DotKernels;
void gemm_with(const DotKernels& kernels, const GemmArgs& args, void* workspace,
               Parallel& parallel);

// One product per batch: batch i uses A at a + i * a_batch, and so on; b_batch 0 shares B.
struct BatchedGemmArgs {
  std::int64_t batches = 0;
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::ptrdiff_t lda = 0, a_col_stride = 1, a_batch = 0;
  const float* b = nullptr;
  std::ptrdiff_t b_row_stride = 0, b_col_stride = 1, b_batch = 0;
  float* c = nullptr;
  std::ptrdiff_t ldc = 0, c_batch = 0;
  Epilogue epilogue;  // the residual moves by residual_batch
  std::ptrdiff_t residual_batch = 0;
};

std::size_t batched_gemm_workspace_bytes(const BatchedGemmArgs& args, int threads);
void batched_gemm(const BatchedGemmArgs& args, void* workspace, Parallel& parallel);

}  // namespace treadle::kernels
