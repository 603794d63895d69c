// Layer, instance and RMS normalisation in f32, without scale and bias.
#pragma once

#include "base/threads.hpp"
#include "kernels/math/rows.hpp"
#include "kernels/math/split.hpp"

namespace treadle::kernels {

// Over the middle axis: y = (x − mean) / sqrt(var + epsilon), or without `center`
// y = x / sqrt(mean(x²) + epsilon). y may be x.
void normalize(const Rows& table, const Split& s, bool center, float epsilon, const float* x,
               float* y, Parallel& parallel);

}  // namespace treadle::kernels
