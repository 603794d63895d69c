#include "gpu/metal/device.hpp"

#include <unistd.h>

#include <map>

#include "base/pages.hpp"

namespace treadle::gpu {
namespace metal {
namespace {

std::string why_not(const DeviceObject* device) {
  if (!device) return "this machine has no Metal device";
  const DeviceFacts facts = facts_of(device);
  if (facts.apple7) return {};
  return fmt::format("the Metal device ({}) is not of the family Apple7 (M1 and later)",
                     facts.name);
}

Owned<DeviceObject> required_device() {
  Owned<DeviceObject> device = system_device();
  const std::string why = why_not(device.get());
  check(why.empty(), ErrorKind::Device, "{}", why);
  return device;
}

}  // namespace

MetalDevice::MetalDevice(const MetalOptions& options)
    : object_(required_device()),
      name_(facts_of(object()).name),
      pipelines_(object(), name_, options) {}

DeviceBufferPtr MetalDevice::add(Owned<BufferObject> buffer, std::size_t bytes,
                                 std::shared_ptr<const void> owner, std::string_view what) {
  const DeviceBlock block{device_address(contents(buffer.get())), bytes, std::string(what), !owner};
  return blocks_->add(std::make_shared<Block>(Block{block, std::move(buffer), std::move(owner)}));
}

DeviceBufferPtr MetalDevice::allocate(std::size_t bytes, std::string_view what) {
  const DeviceFacts facts = facts_of(object());
  Owned<BufferObject> buffer;
  if (bytes <= facts.largest_buffer) {
    // Also a launch's buffer that the kernel does not look at must hold an element of its type.
    buffer = new_buffer(object(), std::max<std::size_t>((bytes + 15) / 16 * 16, 16));
  }
  check(buffer != nullptr, ErrorKind::Memory,
        "Metal device ({}) has not enough memory for {}: {} bytes asked for, {} of {} free, at "
        "most {} in one buffer",
        name_, what, bytes, facts.working_set - std::min(facts.allocated, facts.working_set),
        facts.working_set, facts.largest_buffer);
  return add(std::move(buffer), bytes, nullptr, what);
}

DeviceBufferPtr MetalDevice::wrap(const void* data, std::size_t bytes,
                                  std::shared_ptr<const void> owner, std::string_view what) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const DeviceAddress begin = device_address(data);
  // What is smaller may share its page with other memory of the heap.
  if (bytes < kMapFrom || begin % page != 0) return nullptr;
  const std::lock_guard lock(wrapping_);
  // One buffer an address: constants may be the same bytes, or some of another's.
  if (blocks_->overlaps(begin, bytes)) return nullptr;
  // Nothing writes to it, but Metal has no buffers of constant memory.
  const std::size_t size = (bytes + page - 1) / page * page;
  Owned<BufferObject> buffer = new_buffer(object(), size, const_cast<void*>(data));
  return buffer ? add(std::move(buffer), bytes, std::move(owner), what) : nullptr;
}

}  // namespace metal

std::shared_ptr<Device> make_metal_device(const MetalOptions& options) {
  // Kernels take a while to compile: one object for as long as one is in use.
  static std::mutex mutex;
  static auto& devices = *new std::map<std::pair<std::string, bool>, std::weak_ptr<Device>>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Device>& known = devices[{options.archive, options.own_kernels}];
  std::shared_ptr<Device> device = known.lock();
  if (!device) known = device = std::make_shared<metal::MetalDevice>(options);
  return device;
}

std::string why_no_metal() {
  return metal::why_not(metal::system_device().get());
}

std::string metal_device_name() {
  return metal::facts_of(metal::system_device().get()).name;
}

}  // namespace treadle::gpu
