// The epilogue of a fused step, with the vectors that it owns.
#pragma once

#include <vector>

#include "cpu/fuse.hpp"
#include "kernels/epilogue.hpp"

namespace treadle::cpu {

struct OwnedEpilogue {
  std::vector<float> bias, slope;
  bool residual = false, residual_before_act = false;
  kernels::Act act = kernels::Act::None;
  float a = 0, b = 0;

  OwnedEpilogue() = default;
  // `own_bias` is the producer's own, or null.
  OwnedEpilogue(const FusedEpilogue* fused, const Tensor* own_bias);
  // With the residual of this run, whose rows are `stride` apart.
  kernels::Epilogue with(const float* residual_data, std::ptrdiff_t stride) const;
};

}  // namespace treadle::cpu
