// Cache-blocked product of rows found through pointers with a packed matrix: the loop nest that
// matrix products and convolutions share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/threads.hpp"
#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

// A range of the summed dimension: whole taps [tap, tap + taps) with begin 0 and size all of k, or
// [begin, begin + size) of a single tap.
struct KRange {
  std::int64_t tap = 0, taps = 0;
  std::int64_t begin = 0, size = 0;
};

// Where the rows of the left factor and of the result lie.
class DotRows {
 public:
  virtual ~DotRows() = default;
  // For each tap t of `range` and row r < count: out[t * count + r] points at the range.size values
  // of row first + r. `slot` < threads names the caller, which may use scratch of its own.
  virtual void inputs(std::int64_t first, std::int64_t count, const KRange& range,
                      const float** out, int slot) const = 0;
  // Index of the result's row for rows first + r, r < count.
  virtual void outputs(std::int64_t first, std::int64_t count, std::int64_t* out) const;
};

struct DotProblem {
  const DotKernels* kernels = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t taps = 1, k = 0;   // taps * k values are summed
  const float* packed = nullptr;  // see pack.hpp
  float* c = nullptr;
  std::ptrdiff_t ldc = 0;
  bool add_c = false;
  const Epilogue* epilogue = nullptr;
  bool needs_slots = false;  // inputs() uses its slot: ranges are then fixed per thread
};

// Bounds that inputs() can rely on for its scratch.
inline constexpr std::int64_t kMaxBlockRows = 384;
inline constexpr std::int64_t kMaxKRange = 577;  // no k_block is beyond two thirds of it

void dot_blocked(const DotProblem& problem, const DotRows& rows, Parallel& parallel);

// Applies a row pass (see is_pass), and adds the residual where the epilogue says that it comes
// after, to n columns from `first` on of `count` rows. `residual` is read only where the epilogue
// has one.
void finish_rows(const Epilogue& e, float* const* rows, const float* const* residual,
                 std::int64_t count, std::int64_t first, std::int64_t n);

}  // namespace treadle::kernels
