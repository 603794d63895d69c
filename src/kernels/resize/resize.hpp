// Nearest and linear resizing in f32 of one axis, or of two neighbouring ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.hpp"
#include "kernels/math/rows.hpp"

namespace treadle::kernels {

// What one output position reads: input positions `low` and `high`, weighted. Nearest: high_weight
// is 0 and low_weight 1.
struct ResizeTap {
  std::int64_t low = 0, high = 0;
  float low_weight = 1, high_weight = 0;
};

// A tensor seen as [outer, height, width, inner]; one tap an output row and column.
struct ResizeArgs {
  std::int64_t outer = 1, in_height = 1, in_width = 1, inner = 1;
  bool nearest = false;
  std::vector<ResizeTap> rows, columns;
};

void resize(const Rows& table, const ResizeArgs& args, const float* x, float* y,
            Parallel& parallel);

}  // namespace treadle::kernels
