#include "gpu/cuda/context.hpp"

#include <algorithm>
#include <array>

#include "gpu/cuda/fatbin.hpp"

namespace treadle::gpu::cuda {

DeviceDescription describe_device(const Driver& driver, int ordinal) {
  const auto check = [&](Result result) {
    treadle::check(result == kSuccess, ErrorKind::Device, "CUDA device {}: asking what it is: {}",
                   ordinal, driver.text_of(result));
  };
  DeviceDescription d;
  std::array<char, 256> name{};
  std::size_t bytes = 0;
  check(driver.device_get(&d.handle, ordinal));
  check(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, d.handle));
  check(driver.device_attribute(&d.major, kComputeCapabilityMajor, d.handle));
  check(driver.device_attribute(&d.minor, kComputeCapabilityMinor, d.handle));
  check(driver.device_memory(&bytes, d.handle));
  d.name = fmt::format("{} (sm_{}{}, {} GiB)", name.data(), d.major, d.minor, bytes >> 30);
  return d;
}

std::shared_ptr<DeviceContext> DeviceContext::open(int ordinal) {
  const DriverOrReason& loaded = driver_or_reason();
  if (!loaded.driver) fail(ErrorKind::Device, "{}", loaded.why_not);
  treadle::check(ordinal >= 0 && ordinal < loaded.devices, ErrorKind::Device,
                 "CUDA device {} asked for; this machine has {}, counted from 0", ordinal,
                 loaded.devices);
  std::shared_ptr<DeviceContext> context(new DeviceContext(*loaded.driver, ordinal));
  context->load();
  return context;
}

DeviceContext::~DeviceContext() {
  if (!handle_) return;
  {
    const ContextScope scope(*this);
    if (scope.entered()) {
      for (const Module module : modules_) driver_.module_unload(module);
    }
  }
  driver_.context_release(device_.handle);
}

void DeviceContext::load() {
  device_ = describe_device(driver_, ordinal_);
  treadle::check(runs_on(cuda_architectures(), device_.major, device_.minor), ErrorKind::Device,
                 "no kernel of this build runs on CUDA device {} ({}): built for {}", ordinal_,
                 name(), cuda_architectures().empty() ? "none" : cuda_architectures());
  check(driver_.context_retain(&handle_, device_.handle), "making its primary context");
  load_kernels();
}

void DeviceContext::load_kernels() {
  const ContextScope scope(*this);
  scope.required();
  for (const void* fatbin : embedded_fatbins()) {
    modules_.reserve(modules_.size() + 1);
    modules_.push_back(load_module(fatbin));
  }
  functions_.reserve(static_cast<std::size_t>(KernelId::kCount));
  // The list is ordered by family: mostly it is the module of the kernel before.
  std::size_t m = 0;
  for (std::uint16_t i = 0; i < static_cast<std::uint16_t>(KernelId::kCount); ++i) {
    const char* const kernel = kernel_info(static_cast<KernelId>(i)).name;
    Function function = nullptr;
    Result result = kNotFound;
    for (std::size_t tries = 0; result == kNotFound && tries < modules_.size(); ++tries) {
      result = driver_.module_function(&function, modules_[m], kernel);
      if (result == kNotFound) m = (m + 1) % modules_.size();
    }
    if (result != kSuccess) fail_with(result, fmt::format("looking up the kernel {}", kernel));
    functions_.push_back(function);
  }
  // All kernels are compiled for the same architectures.
  int ptx_version = 0;
  check(driver_.function_attribute(&ptx_version, kFunctionPtxVersion, functions_.front()),
        "asking what its kernels were compiled for");
  kernels_wait_ = ptx_version >= 90;
}

Module DeviceContext::load_module(const void* fatbin) const {
  Module module = nullptr;
  if (const Result result = driver_.module_load(&module, fatbin); result != kSuccess) {
    int version = 0;
    driver_.driver_version(&version);
    fail_with(result, fmt::format("loading the kernels, built for {}, with a driver for CUDA {}.{}",
                                  cuda_architectures(), version / 1000, version % 1000 / 10));
  }
  return module;
}

void DeviceContext::fail_with(Result result, std::string_view action) const {
  fail(ErrorKind::Device, "CUDA device {} ({}): {}: {}", ordinal_, name(), action,
       driver_.text_of(result));
}

Pointer DeviceContext::allocate(std::size_t bytes, std::string_view what) {
  const ContextScope scope(*this);
  scope.required();
  Pointer pointer = 0;
  const Result result = driver_.memory_allocate(&pointer, std::max<std::size_t>(bytes, 1));
  if (result == kOutOfMemory) {
    std::size_t free_bytes = 0, total = 0;
    driver_.memory_info(&free_bytes, &total);
    fail(ErrorKind::Memory,
         "CUDA device {} ({}) has not enough memory for {}: {} bytes asked for, {} of {} free, {} "
         "in buffers of this process",
         ordinal_, name(), what, bytes, free_bytes, total, bytes_in_use());
  }
  if (result != kSuccess) fail_with(result, fmt::format("allocating {} bytes for {}", bytes, what));
  const std::size_t now = bytes_in_use_ += bytes;
  std::size_t peak = peak_bytes_;
  while (peak < now && !peak_bytes_.compare_exchange_weak(peak, now)) {
  }
  return pointer;
}

void DeviceContext::free(Pointer pointer, std::size_t bytes) noexcept {
  const ContextScope scope(*this);
  if (scope.entered()) driver_.memory_free(pointer);
  bytes_in_use_ -= bytes;
}

void* DeviceContext::allocate_host(std::size_t bytes) {
  const ContextScope scope(*this);
  scope.required();
  void* data = nullptr;
  const Result result =
      driver_.host_allocate(&data, std::max<std::size_t>(bytes, 1), kHostAllocDeviceMap);
  if (result == kOutOfMemory) {
    fail(ErrorKind::Memory, "CUDA device {} ({}): no {} bytes of page-locked host memory", ordinal_,
         name(), bytes);
  }
  check(result, "allocating page-locked host memory");
  return data;
}

void DeviceContext::free_host(void* data) noexcept {
  const ContextScope scope(*this);
  if (scope.entered()) driver_.host_free(data);
}

ContextScope::ContextScope(const DeviceContext& context) : context_(context) {
  Context current = nullptr;
  result_ = context.driver().context_current(&current);
  if (result_ != kSuccess || current == context.handle()) return;
  result_ = context.driver().context_push(context.handle());
  pushed_ = result_ == kSuccess;
}

ContextScope::~ContextScope() {
  Context popped = nullptr;
  if (pushed_) context_.driver().context_pop(&popped);
}

const ContextScope& ContextScope::required() const {
  context_.check(result_, "making its context current");
  return *this;
}

}  // namespace treadle::gpu::cuda
