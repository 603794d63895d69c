// Reductions on a device.
#pragma once

#include <string>
#include <vector>

#include "gpu/rows_plan.hpp"
#include "ops/reduce.hpp"

namespace treadle::gpu {

// Why no kernel computes it, or empty: F32 and F16, of Bool the extremes.
std::string why_no_reduce(ops::ReduceFn fn, DType dtype);

// Of a tensor of `shape` over `axes` (sorted): a pass for each run of neighbouring axes, two where
// there are few results. Throws Unsupported for tensors that are too large.
class ReducePlan {
 public:
  ReducePlan(ops::ReduceFn fn, DType dtype, const Shape& shape,
             const std::vector<std::int64_t>& axes);
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  void run(Queue& queue, DeviceAddress x, DeviceAddress y, DeviceAddress workspace,
           const char* label) const;
  std::size_t launches() const { return passes_.size(); }

 private:
  struct Pass {
    KernelId kernel;
    SplitLaunch launch;
    tk::ReduceParams params;
  };
  struct Step {
    Pass vectors, plain;  // for an aligned input, and for others
    std::size_t to = 0;   // in the workspace; the last pass writes y
  };
  // Appends a pass over s, or with `split` two where that keeps the device busy. Its input is x for
  // the first pass, floats for the others.
  void add(const kernels::Split& s, bool split);
  Pass pass(const kernels::Split& s, std::int64_t vector, std::int64_t segments) const;

  int fold_ = 0;
  DType dtype_;
  tk::ReduceParams params_{};
  std::vector<Step> passes_;
  std::size_t workspace_bytes_ = 0;
};

// Of F32 or F16 to I64. Throws Shape error for an empty axis, Unsupported as above.
class ArgReducePlan {
 public:
  ArgReducePlan(const ops::ArgReduce& op, DType dtype, const Shape& shape);
  void run(Queue& queue, DeviceAddress x, DeviceAddress y, const char* label) const;

 private:
  KernelId kernel_;
  SplitLaunch launch_;
  tk::ArgReduceParams params_{};
  bool empty_ = false;
};

}  // namespace treadle::gpu
