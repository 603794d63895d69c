// The inner kernel that matrix products and convolutions share: a tile of rows times a packed panel
// of columns, with rows found through pointers (batch-reduce).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_features.hpp"
#include "kernels/epilogue.hpp"

namespace treadle::kernels {

// c[r][column + j] = epilogue(sum over t < taps, i < k of a[t * tap_stride + r][i] * b[(t k + i)
// width + j]) for r < rows, j < n, where width and rows belong to the kernel and n <= width.
struct DotTile {
  const float* const* a = nullptr;
  std::ptrdiff_t tap_stride = 0;
  std::int64_t taps = 1;
  std::int64_t k = 0;
  const float* b = nullptr;
  float* const* c = nullptr;               // one pointer per row
  const float* const* residual = nullptr;  // one per row, or null
  const float* bias = nullptr;             // of the first column of the tile, or null
  const float* slope = nullptr;            // the same
  std::ptrdiff_t column = 0;               // added to c and residual
  std::int64_t n = 0;
  const float* next = nullptr;  // prefetch_lines cache lines that will be wanted soon
  std::int64_t prefetch_lines = 0;
  bool add_c = false;  // adds what c holds before the epilogue
  bool residual_before_act = false;
  Act act = Act::None;  // not one for which is_pass() holds
  float act_a = 0, act_b = 0;
};

using DotTileFn = void (*)(const DotTile&);

inline constexpr int kMaxTileVectors = 4;
inline constexpr int kMaxTileRows = 8;

// The tiles of one instruction set. A packed panel is 1 to max_vectors registers wide.
struct DotKernels {
  const char* name = nullptr;
  Isa isa = Isa::Generic;
  int lanes = 0;
  int main_vectors = 0;  // panel width, in registers, of all but the last two panels
  int max_vectors = 0;
  std::int64_t k_block = 0;            // values of K per pass over a tile
  int rows[kMaxTileVectors + 1] = {};  // most rows of a tile, by panel width
  DotTileFn tile[kMaxTileVectors + 1][kMaxTileRows + 1] = {};

  int main_width() const { return lanes * main_vectors; }
  // Width in columns of the panel that begins where `columns` remain.
  int panel_width(std::int64_t columns) const {
    const std::int64_t left = (columns + lanes - 1) / lanes;
    if (left <= max_vectors) return static_cast<int>(left) * lanes;
    return (left - main_vectors == 1 ? main_vectors - 1 : main_vectors) * lanes;
  }
};

// The kernels for active_isa().
const DotKernels& dot_kernels();
// Those for one instruction set; null when this build has none.
const DotKernels* dot_kernels_for(Isa isa);

// The epilogue of `rows` x tile.n sums that lie `width` apart, in plain C++.
void finish_sums(const DotTile& tile, const float* sums, int rows, int width);

}  // namespace treadle::kernels
