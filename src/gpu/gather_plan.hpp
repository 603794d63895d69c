// Gather, GatherElements and GatherND on a device: any dtype of fixed size, indices I32 or I64. An
// index out of range is thrown by the queue's next sync.
#pragma once

#include <string>

#include "gpu/kernels/params.hpp"
#include "gpu/queue.hpp"
#include "tensor/tensor.hpp"

namespace treadle::gpu {

// Why no kernel moves such elements by such indices, or empty.
std::string why_no_gather(DType dtype, DType indices);

// Each throws Unsupported error for tensors beyond 32-bit positions.
class GatherPlan {
 public:
  GatherPlan(std::int64_t axis, const TensorView& x, const TensorView& indices);
  void run(Queue& queue, DeviceAddress x, DeviceAddress indices, DeviceAddress y,
           const char* label) const;

 private:
  std::int64_t outer_, size_, inner_bytes_, many_;
  bool wide_;
};

// Throws Shape error where `indices` exceeds x beside the axis, Unsupported above rank 6.
class GatherElementsPlan {
 public:
  GatherElementsPlan(std::int64_t axis, const TensorView& x, const TensorView& indices);
  void run(Queue& queue, DeviceAddress x, DeviceAddress indices, DeviceAddress y,
           const char* label) const;

 private:
  KernelId kernel_ = KernelId::kCount;
  tk::GatherElementsParams params_{};
};

// Throws Shape error where the batch axes differ, Unsupported for tuples of more than 6.
class GatherNdPlan {
 public:
  GatherNdPlan(std::int64_t batch_dims, const TensorView& x, const TensorView& indices);
  void run(Queue& queue, DeviceAddress x, DeviceAddress indices, DeviceAddress y,
           const char* label) const;

 private:
  std::int64_t limits_[tk::kGatherAxes] = {}, strides_[tk::kGatherAxes] = {};  // bytes
  std::int64_t depth_ = 0, batch_bytes_ = 0, run_bytes_ = 1, tuples_ = 1, all_tuples_ = 1;
  bool wide_;
};

}  // namespace treadle::gpu
