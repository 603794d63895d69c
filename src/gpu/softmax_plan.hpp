// Softmax and its logarithm on a device.
#pragma once

#include "gpu/rows_plan.hpp"

namespace treadle::gpu {

// Over s.length, of F32 or F16. x and y must not overlap. Throws Unsupported for tensors that are
// too large.
class SoftmaxPlan {
 public:
  SoftmaxPlan(const kernels::Split& s, DType dtype, bool log);
  void run(Queue& queue, DeviceAddress x, DeviceAddress y, const char* label) const;

 private:
  KernelId kernel_, plain_;  // for aligned addresses, and for others
  SplitLaunch launch_;
  tk::SoftmaxParams params_{};
  bool empty_ = false;
};

}  // namespace treadle::gpu
