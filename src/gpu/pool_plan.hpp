// Pooling on a device.
#pragma once

#include <optional>
#include <string>

#include "gpu/prepared.hpp"
#include "gpu/reduce_plan.hpp"
#include "ops/pool.hpp"

namespace treadle::gpu {

// Why no kernel computes it, or empty: F32 and F16, one to three spatial axes, not Lp.
std::string why_no_pool(const ops::Pool& op, DType dtype, int rank);

struct PoolAddresses {
  DeviceAddress x = 0, y = 0;
  DeviceAddress indices = 0;    // I64, where the operator has them
  DeviceAddress workspace = 0;  // of workspace_bytes()
};

class PoolPlan {
 public:
  // `sum`: an Average is not divided. Throws Unsupported error where why_no_pool says so and for
  // tensors that are too large.
  PoolPlan(const ops::Pool& op, DType dtype, const Shape& x, bool sum = false);
  const Shape& output() const { return output_; }
  std::size_t workspace_bytes() const;
  void run(Queue& queue, const PoolAddresses& at, const char* label) const;
  // Not for a pool that a reduction computes.
  PreparedLaunches prepare(const PoolAddresses& at, const char* label) const;
  // Two outputs along the width a thread, where the kernel can (dense channels, overlapping
  // windows); otherwise as many threads as the outputs suggest. For measurements and tests.
  void set_pairs(bool on) { pairs_ = on; }
  // The window is the whole input, and there are no indices: a reduction does it.
  bool is_global() const { return reduce_.has_value(); }

 private:
  void set_windows(const ops::Pool& op, const Shape& x);
  void set_layout(const ops::Pool& op, const Shape& x);
  void find_global(const ops::Pool& op, const Shape& x, bool sum);

  DType dtype_;
  Shape output_;
  tk::PoolParams params_{};  // for one channel and one output a thread
  std::int64_t images_ = 0, columns_ = 0, out_[3] = {1, 1, 1};
  bool max_ = false, indices_ = false;
  std::optional<bool> pairs_;
  std::optional<ReducePlan> reduce_;
};

}  // namespace treadle::gpu
