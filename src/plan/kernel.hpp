// What lowering makes of a node: a kernel, which binding turns into something that runs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/threads.hpp"
#include "graph/dim.hpp"
#include "graph/operator.hpp"
#include "plan/device.hpp"
#include "tensor/tensor.hpp"

namespace treadle {

// What a kernel knows when shapes are bound. An input's `data` is set for constants only; an
// omitted input is null.
struct BindContext {
  std::span<const TensorView* const> in;
  std::span<const TensorView* const> out;
  const SymbolValues& symbols;
  int threads = 1;
};

// What a bound kernel runs on: the same views as at binding, all with data. A kernel of a queued
// step enqueues its work on `queue`; views of values on the device, and the workspace, hold device
// addresses then.
struct RunContext {
  std::span<const TensorView* const> in;
  std::span<TensorView* const> out;
  void* workspace = nullptr;  // 64-byte aligned, workspace_bytes() long, contents undefined
  Parallel& parallel;
  DeviceQueue* queue = nullptr;
  const char* label = "";  // "node 'conv1' (Conv)": lives as long as the program
};

// A kernel for given shapes. Used by one thread at a time. run() allocates nothing in steady state.
class BoundKernel {
 public:
  virtual ~BoundKernel() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  // Throws Error for data that the operator refuses (an index out of range).
  virtual void run(RunContext& ctx) = 0;
  // The variant that was chosen: "conv_pointwise_avx2". Static text or text owned by this.
  virtual std::string_view variant() const { return {}; }
};

// Immutable and shared by all sessions. Holds what does not depend on shapes, such as packed
// weights.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::string_view name() const = 0;
  // Throws Shape or Type error when the concrete shapes do not fit.
  virtual std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const = 0;
  // Bytes of packed weights it holds.
  virtual std::size_t packed_bytes() const { return 0; }
  // True when it took what it needs of constant input i when it was made, so that nothing reads the
  // input any more (its view keeps its shape, without data).
  virtual bool consumes(std::size_t) const { return false; }
};
using KernelPtr = std::shared_ptr<const Kernel>;

// A bound kernel from a callable `void(RunContext&)`, for kernels without a variant or workspace.
template <typename F>
std::unique_ptr<BoundKernel> bound(F f, std::size_t workspace = 0, std::string_view variant = {}) {
  struct Lambda final : BoundKernel {
    Lambda(F fn, std::size_t bytes, std::string_view v) : f_(std::move(fn)), bytes_(bytes), v_(v) {}
    std::size_t workspace_bytes() const override { return bytes_; }
    void run(RunContext& ctx) override { f_(ctx); }
    std::string_view variant() const override { return v_; }
    F f_;
    std::size_t bytes_;
    std::string_view v_;
  };
  return std::make_unique<Lambda>(std::move(f), workspace, variant);
}

// A kernel from a name and a callable `std::unique_ptr<BoundKernel>(const BindContext&)`.
template <typename F>
KernelPtr kernel(std::string_view name, F f, std::size_t packed = 0) {
  struct Lambda final : Kernel {
    Lambda(std::string_view n, F fn, std::size_t bytes) : n_(n), f_(std::move(fn)), bytes_(bytes) {}
    std::string_view name() const override { return n_; }
    std::unique_ptr<BoundKernel> bind(const BindContext& ctx) const override { return f_(ctx); }
    std::size_t packed_bytes() const override { return bytes_; }
    std::string_view n_;
    F f_;
    std::size_t bytes_;
  };
  return std::make_shared<const Lambda>(name, std::move(f), packed);
}

}  // namespace treadle
