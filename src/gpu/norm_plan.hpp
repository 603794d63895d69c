// Normalisation by mean and variance on a device: layer, RMS, group and instance norm.
#pragma once

#include "gpu/rows_plan.hpp"

namespace treadle::gpu {

// Over s.length, of F32 or F16; see ops::Norm. One launch, or three where a few columns are long. x
// and y must not overlap. Throws Unsupported for tensors that are too large.
class NormPlan {
 public:
  NormPlan(const kernels::Split& s, DType dtype, bool center, double epsilon);
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  void run(Queue& queue, DeviceAddress x, DeviceAddress y, DeviceAddress workspace,
           const char* label) const;
  std::size_t launches() const { return steps_; }

 private:
  struct Form {
    KernelId kernel = KernelId::kCount;  // of the only launch, or of the last of three
    SplitLaunch launch;
    tk::NormParams params{};
  };
  void plan_three(const kernels::Split& s, std::int64_t segments);

  DType dtype_;
  Form vectors_, plain_;  // for aligned addresses, and for others
  Form partial_;          // the first of three launches, and what the second needs
  std::size_t steps_ = 0, stats_at_ = 0, workspace_bytes_ = 0;
};

}  // namespace treadle::gpu
