#include "kernels/gemm/gemm.hpp"

#include <algorithm>

#include "base/shape.hpp"
#include "kernels/gemm/driver.hpp"
#include "kernels/gemm/pack.hpp"

namespace treadle::kernels {
namespace {

// Rows that many bytes apart (or a multiple) fall into the same few cache sets.
constexpr std::ptrdiff_t kAliasFloats = 1024;
constexpr std::int64_t kMinTaskWork = 1 << 19;

bool needs_strips(const GemmArgs& g) {
  if (g.k <= 0 || g.m <= 0) return false;
  if (g.a_col_stride != 1) return g.k > 1;
  return g.lda % kAliasFloats == 0 && g.lda != 0 && g.m > 24 && g.n > 96;
}

std::int64_t strip_floats(std::int64_t m) {
  return std::min(m + 24, kMaxBlockRows) * (kMaxKRange + 16);
}

class MatrixRows final : public DotRows {
 public:
  MatrixRows(const GemmArgs& g, float* scratch, std::int64_t slot_floats)
      : g_(g), scratch_(scratch), slot_floats_(slot_floats) {}

  void inputs(std::int64_t first, std::int64_t count, const KRange& range, const float** out,
              int slot) const override {
    const float* a = g_.a + first * g_.lda + range.begin * g_.a_col_stride;
    if (!scratch_) {
      for (std::int64_t r = 0; r < count; ++r) out[r] = a + r * g_.lda;
      return;
    }
    // An odd number of cache lines between rows spreads them over the sets.
    const std::int64_t step = (range.size + 15) / 16 / 2 * 32 + 16;
    float* strip = scratch_ + slot * slot_floats_;
    for (std::int64_t r = 0; r < count; ++r) out[r] = strip + r * step;
    if (g_.a_col_stride == 1) {
      for (std::int64_t r = 0; r < count; ++r) {
        std::copy_n(a + r * g_.lda, range.size, strip + r * step);
      }
    } else {
      copy_strided(a, count, range.size, strip, step);
    }
  }

 private:
  void copy_strided(const float* a, std::int64_t rows, std::int64_t k, float* to,
                    std::int64_t step) const {
    constexpr std::int64_t kTile = 16;
    for (std::int64_t i0 = 0; i0 < k; i0 += kTile) {
      const std::int64_t i1 = std::min(k, i0 + kTile);
      for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
        const std::int64_t r1 = std::min(rows, r0 + kTile);
        for (std::int64_t i = i0; i < i1; ++i) {
          const float* column = a + i * g_.a_col_stride;
          for (std::int64_t r = r0; r < r1; ++r) to[r * step + i] = column[r * g_.lda];
        }
      }
    }
  }

  const GemmArgs& g_;
  float* scratch_;
  std::int64_t slot_floats_;
};

GemmArgs one_of(const BatchedGemmArgs& b, std::int64_t i) {
  GemmArgs g;
  g.m = b.m;
  g.n = b.n;
  g.k = b.k;
  g.a = b.a ? b.a + i * b.a_batch : nullptr;
  g.lda = b.lda;
  g.a_col_stride = b.a_col_stride;
  g.c = b.c ? b.c + i * b.c_batch : nullptr;
  g.ldc = b.ldc;
  g.epilogue = b.epilogue;
  if (g.epilogue.residual) g.epilogue.residual += i * b.residual_batch;
  return g;
}

// Rounded so that what follows stays 64-byte aligned when the workspace is.
std::int64_t rounded(std::int64_t floats) {
  return checked_add(floats, 15) / 16 * 16;
}

struct BatchSlot {
  std::int64_t packed = 0, strips = 0;  // floats
};

BatchSlot batch_slot(const BatchedGemmArgs& b, int threads) {
  const GemmArgs g = one_of(b, 0);
  return {rounded(static_cast<std::int64_t>(packed_b_floats(b.k, b.n))),
          rounded(static_cast<std::int64_t>(gemm_workspace_bytes(g, threads) / sizeof(float)))};
}

bool one_batch_per_thread(const BatchedGemmArgs& b, int threads) {
  if (threads == 1 || b.b_batch == 0 || b.batches < 2) return false;
  return b.batches >= 2 * threads || b.m * b.n * b.k < 4 * kMinTaskWork;
}

}  // namespace

std::size_t packed_b_floats(std::int64_t k, std::int64_t n) {
  return packed_floats(dot_kernels(), k, n);
}

void pack_b(const float* b, std::ptrdiff_t row_stride, std::ptrdiff_t col_stride, std::int64_t k,
            std::int64_t n, float* out) {
  PackSource source;
  source.b = b;
  source.k = k;
  source.columns = n;
  source.row_stride = row_stride;
  source.column_stride = col_stride;
  pack_panels(dot_kernels(), source, out);
}

std::size_t gemm_workspace_bytes(const GemmArgs& g, int threads) {
  if (!needs_strips(g)) return 0;
  return static_cast<std::size_t>(strip_floats(g.m) * threads) * sizeof(float);
}

void gemm(const GemmArgs& g, void* workspace, Parallel& parallel) {
  gemm_with(dot_kernels(), g, workspace, parallel);
}

void gemm_with(const DotKernels& kernels, const GemmArgs& g, void* workspace, Parallel& parallel) {
  const bool strips = needs_strips(g);
  const MatrixRows rows(g, strips ? static_cast<float*>(workspace) : nullptr, strip_floats(g.m));
  DotProblem p;
  p.kernels = &kernels;
  p.rows = g.m;
  p.columns = g.n;
  p.k = g.k;
  p.packed = g.packed_b;
  p.c = g.c;
  p.ldc = g.ldc;
  p.add_c = g.accumulate;
  p.epilogue = &g.epilogue;
  p.needs_slots = strips;
  dot_blocked(p, rows, parallel);
}

std::size_t batched_gemm_workspace_bytes(const BatchedGemmArgs& b, int threads) {
  const bool split = one_batch_per_thread(b, threads);
  const BatchSlot slot = batch_slot(b, split ? 1 : threads);
  const std::int64_t floats =
      checked_mul(checked_add(slot.packed, slot.strips), split ? threads : 1);
  return static_cast<std::size_t>(checked_mul(floats, sizeof(float)));
}

void batched_gemm(const BatchedGemmArgs& b, void* workspace, Parallel& parallel) {
  if (b.batches <= 0 || b.m <= 0 || b.n <= 0) return;
  const int threads = parallel.threads();
  const bool split = one_batch_per_thread(b, threads);
  const BatchSlot slot = batch_slot(b, split ? 1 : threads);
  float* const scratch = static_cast<float*>(workspace);
  const auto run = [&](std::int64_t begin, std::int64_t end, std::int64_t s, Parallel& inner) {
    float* packed = scratch + s * (slot.packed + slot.strips);
    for (std::int64_t i = begin; i < end; ++i) {
      if (i == begin || b.b_batch != 0) {
        pack_b(b.b + i * b.b_batch, b.b_row_stride, b.b_col_stride, b.k, b.n, packed);
      }
      GemmArgs g = one_of(b, i);
      g.packed_b = packed;
      gemm(g, packed + slot.packed, inner);
    }
  };
  if (!split) {
    run(0, b.batches, 0, parallel);
    return;
  }
  const std::int64_t slots = std::min<std::int64_t>(threads, b.batches);
  const std::int64_t work = std::max<std::int64_t>(1, b.m * b.n * b.k * (b.batches / slots));
  parallel.run(slots, work < kMinTaskWork ? slots : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      run(b.batches * s / slots, b.batches * (s + 1) / slots, s, serial());
    }
  });
}

}  // namespace treadle::kernels
