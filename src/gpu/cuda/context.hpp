// The primary context of one CUDA device with the kernels loaded: what buffers, queues and
// recordings keep alive, so that they may be destroyed in any order.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gpu/cuda/driver.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu::cuda {

struct DeviceDescription {
  DeviceHandle handle = 0;
  int major = 0, minor = 0;  // compute capability
  std::string name;          // "NVIDIA H200 (sm_90, 139 GiB)"
};
// Throws Error (kind Device).
DeviceDescription describe_device(const Driver& driver, int ordinal);

class DeviceContext {
 public:
  // Throws Error (kind Device) without driver or device, or when no kernel of this build runs on
  // it.
  static std::shared_ptr<DeviceContext> open(int ordinal);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const Driver& driver() const { return driver_; }
  const std::string& name() const { return device_.name; }
  Context handle() const { return handle_; }
  Function function(KernelId id) const { return functions_[static_cast<std::size_t>(id)]; }
  // Whether the kernels, as loaded for this device, wait for the one before them themselves
  // (tk_wait_for_previous), so that a launch need not.
  bool kernels_wait() const { return kernels_wait_; }

  // Throws Error (kind Device): "CUDA device 0 (NVIDIA H200 …): <action>: CUDA_ERROR_…".
  void check(Result result, std::string_view action) const {
    if (result != kSuccess) [[unlikely]]
      fail_with(result, action);
  }
  [[noreturn]] void fail_with(Result result, std::string_view action) const;

  // Device memory; allocate throws Error (kind Memory) when there is not enough.
  Pointer allocate(std::size_t bytes, std::string_view what);
  void free(Pointer pointer, std::size_t bytes) noexcept;
  std::size_t bytes_in_use() const { return bytes_in_use_; }
  std::size_t peak_bytes() const { return peak_bytes_; }

  // Page-locked host memory that the device sees too; throws like allocate.
  void* allocate_host(std::size_t bytes);
  void free_host(void* data) noexcept;

 private:
  DeviceContext(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}
  void load();
  void load_kernels();
  Module load_module(const void* fatbin) const;

  const Driver& driver_;
  int ordinal_;
  DeviceDescription device_;
  Context handle_ = nullptr;
  std::vector<Module> modules_;  // one for each family of kernels
  std::vector<Function> functions_;
  bool kernels_wait_ = false;
  std::atomic<std::size_t> bytes_in_use_ = 0, peak_bytes_ = 0;
};

// Makes the context current on this thread; at the end the one before is again. Other code in the
// process may use CUDA with contexts of its own.
class ContextScope {
 public:
  explicit ContextScope(const DeviceContext& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  // False where the driver refused (it has shut down, or a fault has destroyed the context).
  bool entered() const { return result_ == kSuccess; }
  // Throws when not entered.
  const ContextScope& required() const;

 private:
  const DeviceContext& context_;
  Result result_;
  bool pushed_ = false;
};

}  // namespace treadle::gpu::cuda
