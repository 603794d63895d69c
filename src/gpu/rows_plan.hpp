// How the kernels along an axis share out their work; see kernels/rows_params.hpp.
#pragma once

#include <cstdint>

#include "gpu/kernels/params.hpp"
#include "gpu/prepared.hpp"
#include "gpu/queue.hpp"
#include "kernels/math/split.hpp"
#include "tensor/tensor.hpp"

namespace treadle::gpu {

// Groups that keep a large device busy: a constant, so that results do not depend on the device.
inline constexpr std::int64_t kBusyGroups = 264;

inline constexpr std::uint32_t kGroupThreads = tk::kGroup;

// Elements of F32 or F16 in 16 bytes.
inline std::int64_t full_vector(DType dtype) {
  return dtype == DType::F16 ? 8 : 4;
}
inline bool is_aligned(DeviceAddress a, DeviceAddress b = 0) {
  return ((a | b) & 15) == 0;
}

// True where a warp or more is to work on each row: else threads of a warp would find nothing to
// do.
inline bool by_rows(const kernels::Split& s) {
  return s.inner == 1 && s.length >= 32;
}

// Throws Unsupported error when the kernels' 32-bit positions do not reach every element.
void check_split(const kernels::Split& s);

struct SplitLaunch {
  tk::SplitParams params{};
  Extent3 groups, threads{tk::kGroup, 1, 1};
};

// Columns counted in vectors of `vector` neighbours; `segments` groups share the positions of a
// column, the last ones of which may find none. There must be a column.
SplitLaunch split_columns(const kernels::Split& s, std::int64_t vector = 1,
                          std::int64_t segments = 1);
// As many segments as keep a device busy, with enough positions for each; at most `most`.
std::int64_t column_segments(const kernels::Split& s, std::int64_t vector, std::int64_t most);

// The same for a whole group a row (inner == 1): groups of `threads` threads.
SplitLaunch split_rows(const kernels::Split& s, std::uint32_t threads);

// Threads for a row of n elements that a group works on alone.
std::uint32_t row_threads(const kernels::Split& s, std::int64_t vector);

}  // namespace treadle::gpu
