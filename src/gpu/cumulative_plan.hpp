// Cumulative sums and products on a device.
#pragma once

#include "gpu/rows_plan.hpp"
#include "ops/cumulative.hpp"

namespace treadle::gpu {

// Of F32 or F16. x and y must not overlap. Throws Unsupported for tensors that are too large.
class CumulativePlan {
 public:
  CumulativePlan(const ops::Cumulative& op, DType dtype, const Shape& shape);
  void run(Queue& queue, DeviceAddress x, DeviceAddress y, const char* label) const;

 private:
  KernelId kernel_ = KernelId::kCount;
  Extent3 groups_;
  tk::CumulativeParams params_{};
  bool empty_ = false;
};

}  // namespace treadle::gpu
