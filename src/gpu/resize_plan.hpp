// Resizing on a device: see ops::Resize.
#pragma once

#include <string>
#include <vector>

#include "gpu/kernels/params.hpp"
#include "gpu/queue.hpp"
#include "ops/resize.hpp"
#include "tensor/tensor.hpp"

namespace treadle::gpu {

// Why no kernel computes it, or empty: nearest of any dtype of fixed size, the others (and
// cropping) of F32 and F16.
std::string why_no_resize(const ops::Resize& op, DType dtype);

// One launch for each pair of neighbouring axes that change, at least one. Tables of what each
// position reads are put on the device here. Throws Shape error for scales that make no sense,
// Unsupported for tensors beyond 32-bit positions.
class ResizePlan {
 public:
  ResizePlan(Device& device, const ops::Resize& op, DType dtype, const Shape& from,
             const Shape& to);
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  void run(Queue& queue, DeviceAddress x, DeviceAddress y, DeviceAddress workspace,
           const char* label) const;
  std::size_t launches() const { return passes_.size(); }

 private:
  enum class Kind { Nearest, Linear, Taps };
  struct Pass {
    Kind kind = Kind::Nearest;
    std::int64_t outer = 1, height = 1, width = 1, inner = 1;  // inner in bytes
    std::int64_t out_height = 1, out_width = 1;
    std::int32_t row_taps = 1, column_taps = 1;
    DeviceBufferPtr tables;  // positions, then as many weights
    std::size_t positions = 0;
    std::size_t to = 0;  // in the workspace; the last pass writes y
  };
  void add(Device& device, const ops::Resize& op, const Shape& from, const Shape& to,
           std::size_t first, std::size_t last);
  void launch(Queue& queue, const Pass& pass, DeviceAddress x, DeviceAddress y,
              const char* label) const;

  DType dtype_;
  float outside_ = 0;
  std::vector<Pass> passes_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace treadle::gpu
