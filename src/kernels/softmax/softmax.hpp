// Softmax and log-softmax in f32.
#pragma once

#include "base/threads.hpp"
#include "kernels/math/rows.hpp"
#include "kernels/math/split.hpp"

namespace treadle::kernels {

// Over the middle axis. y may be x.
void softmax(const Rows& table, const Split& s, bool logarithm, const float* x, float* y,
             Parallel& parallel);

}  // namespace treadle::kernels
