// The Metal device, see make_metal_device in gpu/queue.hpp.
#include <map>
#include <mutex>
#include <new>

#include "base/error.hpp"
#include "gpu/metal/queue.hpp"

namespace treadle::gpu {
namespace metal {
namespace {

// Ordinary memory of the host: the queue copies between it and shared memory itself.
class HostBuffer final : public StagingBuffer {
 public:
  explicit HostBuffer(std::size_t bytes)
      : StagingBuffer(::operator new (bytes, std::align_val_t{64}), bytes) {}
  ~HostBuffer() override { ::operator delete (data_, std::align_val_t{64}); }
};

class MetalDevice final : public Device {
 public:
  explicit MetalDevice(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  std::string_view kind() const override { return "metal"; }
  std::string name() const override { return context_->facts.name; }
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what) override {
    return context_->memory->allocate(bytes, what);
  }
  DeviceBufferPtr wrap(const void* data, std::size_t bytes, std::shared_ptr<const void> owner,
                       std::string_view what) override {
    return context_->memory->wrap(data, bytes, std::move(owner), what);
  }
  std::unique_ptr<StagingBuffer> allocate_staging(std::size_t bytes) override {
    try {
      return std::make_unique<HostBuffer>(bytes);
    } catch (const std::bad_alloc&) {
      fail(ErrorKind::Memory, "Metal: no memory for a staging buffer of {} bytes", bytes);
    }
  }
  std::unique_ptr<DeviceQueue> make_queue() override { return metal::make_queue(context_); }
  bool separate_buffers() const override { return false; }
  bool orders_by_values() const override { return true; }
  std::size_t bytes_in_use() const override { return context_->memory->bytes_in_use(); }
  std::size_t peak_bytes() const override { return context_->memory->peak_bytes(); }

 private:
  std::shared_ptr<Context> context_;
};

std::string why_not(const DeviceObject* device) {
  if (!device) return "this machine has no Metal device";
  const DeviceFacts facts = facts_of(device);
  if (facts.apple7) return {};
  return fmt::format("the Metal device ({}) is not of the family Apple7 (M1 and later)",
                     facts.name);
}

}  // namespace
}  // namespace metal

std::shared_ptr<Device> make_metal_device(const MetalOptions& options) {
  // Kernels take a while to compile: one object for as long as one is in use.
  static std::mutex mutex;
  static auto& devices = *new std::map<std::pair<std::string, bool>, std::weak_ptr<Device>>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Device>& known = devices[{options.archive, options.matrix_units}];
  if (std::shared_ptr<Device> device = known.lock()) return device;
  auto context = std::make_shared<metal::Context>();
  context->device = metal::system_device();
  if (const std::string why = metal::why_not(context->device.get()); !why.empty())
    fail(ErrorKind::Device, "{}", why);
  context->facts = metal::facts_of(context->device.get());
  context->memory = std::make_shared<metal::Memory>(context->device.get(), context->facts);
  context->pipelines =
      std::make_unique<metal::Pipelines>(context->device.get(), context->facts.name, options);
  auto device = std::make_shared<metal::MetalDevice>(std::move(context));
  known = device;
  return device;
}

std::string why_no_metal() {
  try {
    return metal::why_not(metal::system_device().get());
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string metal_device_name() {
  const auto device = metal::system_device();
  return device ? metal::facts_of(device.get()).name : std::string();
}

}  // namespace treadle::gpu
