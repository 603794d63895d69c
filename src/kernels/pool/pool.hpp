// Max, average and Lp pooling in f32 over up to three spatial axes, channels first or last; max
// pooling of bytes, channels last.
#pragma once

#include <cstdint>

#include "base/threads.hpp"
#include "kernels/math/rows.hpp"

namespace treadle::kernels {

struct PoolAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

struct PoolArgs {
  // Max; Sum for average pooling; SumAbs and SumSquare for L1 and L2 pooling.
  Fold fold = Fold::Max;
  bool average = false;
  bool count_include_pad = false;
  bool square_root = false;
  bool channels_last = false;
  std::int64_t batch = 1, channels = 1;
  PoolAxis axes[3];  // outermost first; unused ones stay as they are
};

// A window without a cell inside the input gives −inf (Max) or 0. NaN propagates.
void pool(const Rows& table, const PoolArgs& args, const float* x, float* y, Parallel& parallel);

// Of `args` only the sizes count. A window without a cell inside the input gives the least value.
void max_pool(const Rows& table, const PoolArgs& args, const std::uint8_t* x, std::uint8_t* y,
              Parallel& parallel);
void max_pool(const Rows& table, const PoolArgs& args, const std::int8_t* x, std::int8_t* y,
              Parallel& parallel);

}  // namespace treadle::kernels
