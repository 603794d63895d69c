#include "gpu/cuda/device.hpp"

#include <map>
#include <mutex>

#include "gpu/cuda/context.hpp"
#include "gpu/cuda/stream.hpp"

namespace treadle::gpu {
namespace cuda {
namespace {

class Buffer : public DeviceBuffer {
 public:
  Buffer(std::shared_ptr<DeviceContext> context, std::size_t bytes, std::string_view what)
      : DeviceBuffer(context->allocate(bytes, what), bytes), context_(std::move(context)) {}
  ~Buffer() override { context_->free(address_, bytes_); }

 private:
  std::shared_ptr<DeviceContext> context_;
};

class PinnedBuffer : public StagingBuffer {
 public:
  PinnedBuffer(std::shared_ptr<DeviceContext> context, std::size_t bytes)
      : StagingBuffer(context->allocate_host(bytes), bytes), context_(std::move(context)) {}
  ~PinnedBuffer() override { context_->free_host(data_); }

 private:
  std::shared_ptr<DeviceContext> context_;
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal) : context_(DeviceContext::open(ordinal)) {}
  std::string_view kind() const override { return "cuda"; }
  std::string name() const override { return context_->name(); }
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what) override {
    return std::make_shared<Buffer>(context_, bytes, what);
  }
  std::unique_ptr<StagingBuffer> allocate_staging(std::size_t bytes) override {
    return std::make_unique<PinnedBuffer>(context_, bytes);
  }
  std::unique_ptr<DeviceQueue> make_queue() override { return make_stream_queue(context_); }
  bool separate_buffers() const override { return false; }
  std::size_t bytes_in_use() const override { return context_->bytes_in_use(); }
  std::size_t peak_bytes() const override { return context_->peak_bytes(); }

 private:
  std::shared_ptr<DeviceContext> context_;
};

}  // namespace

std::vector<std::string> device_names() {
  const DriverOrReason& loaded = driver_or_reason();
  std::vector<std::string> names;
  for (int i = 0; i < loaded.devices; ++i) names.push_back(describe_device(*loaded.driver, i).name);
  return names;
}

}  // namespace cuda

std::shared_ptr<Device> make_cuda_device(int ordinal) {
  // Loading the kernels takes a while and memory: one object a device for as long as one is in use.
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<Device>>& devices = *new std::map<int, std::weak_ptr<Device>>;
  if (const std::string why = why_no_cuda(); !why.empty()) fail(ErrorKind::Device, "{}", why);
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<Device> device = devices[ordinal].lock()) return device;
  auto device = std::make_shared<cuda::CudaDevice>(ordinal);
  devices[ordinal] = device;
  return device;
}

std::string why_no_cuda() {
  try {
    if (cuda_architectures().empty()) {
      return "built without CUDA kernels: there was no nvcc (TREADLE_CUDA)";
    }
    return cuda::driver_or_reason().why_not;
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace treadle::gpu
