#include "gpu/metal/memory.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "base/pages.hpp"

namespace treadle::gpu::metal {

class Memory::Buffer final : public DeviceBuffer {
 public:
  Buffer(DeviceAddress address, std::size_t bytes, std::shared_ptr<Memory> memory)
      : DeviceBuffer(address, bytes), memory_(std::move(memory)) {}
  ~Buffer() override { memory_->release(address_, bytes_); }

 private:
  std::shared_ptr<Memory> memory_;
};

DeviceBufferPtr Memory::allocate(std::size_t bytes, std::string_view what) {
  BlockPtr block = scratch(bytes, what);
  const std::lock_guard lock(mutex_);
  return add(std::move(block), bytes);
}

BlockPtr Memory::scratch(std::size_t bytes, std::string_view what) const {
  // Also a launch's buffer that the kernel does not look at must hold an element of its type.
  const auto block = std::make_shared<Block>();
  if (bytes <= facts_.largest_buffer) {
    block->buffer = new_buffer(device_, std::max<std::size_t>((bytes + 15) / 16 * 16, 16));
  }
  if (!block->buffer) {
    const std::size_t taken = allocated_bytes(device_);
    fail(ErrorKind::Memory,
         "Metal device ({}) has not enough memory for {}: {} bytes asked for, {} of {} free, at "
         "most {} in one buffer",
         facts_.name, what, bytes, facts_.working_set - std::min(taken, facts_.working_set),
         facts_.working_set, facts_.largest_buffer);
  }
  block->begin = device_address(contents(block->buffer.get()));
  block->end = block->begin + bytes;
  block->what = what;
  return block;
}

DeviceBufferPtr Memory::wrap(const void* data, std::size_t bytes, std::shared_ptr<const void> owner,
                             std::string_view what) {
  const std::size_t page = page_bytes(), size = (bytes + page - 1) / page * page;
  // What is smaller may share its page with other memory of the heap.
  if (bytes < kMapFrom || device_address(data) % page != 0 || size > facts_.largest_buffer) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  // One buffer an address: constants may be the same bytes, or some of another's.
  const auto after = blocks_.lower_bound(device_address(data) + bytes);
  if (after != blocks_.begin() && std::prev(after)->second->end > device_address(data)) {
    return nullptr;
  }
  const auto block = std::make_shared<Block>();
  // Nothing writes to it, but Metal has no buffers of constant memory.
  block->buffer = wrap_pages(device_, const_cast<void*>(data), size);
  if (!block->buffer) return nullptr;
  block->begin = device_address(data);
  block->end = block->begin + bytes;
  block->what = what;
  block->owner = std::move(owner);
  return add(block, bytes);
}

DeviceBufferPtr Memory::add(BlockPtr block, std::size_t bytes) {
  const DeviceAddress address = block->begin;
  if (!block->owner) in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  blocks_.emplace(address, std::move(block));
  return std::make_shared<Buffer>(address, bytes, shared_from_this());
}

void Memory::release(DeviceAddress address, std::size_t bytes) noexcept {
  BlockPtr last;  // freed when the lock is no longer held
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(address);
  last = std::move(it->second);
  blocks_.erase(it);
  if (!last->owner) in_use_ -= bytes;
}

BlockPtr Memory::find(DeviceAddress address, std::size_t bytes, std::string_view user) const {
  const std::lock_guard lock(mutex_);
  auto it = blocks_.upper_bound(address);
  check(it != blocks_.begin(), ErrorKind::Device, "Metal: {} uses an address in no buffer", user);
  const BlockPtr& block = (--it)->second;
  check(address <= block->end && bytes <= block->end - address, ErrorKind::Device,
        "Metal: {} uses bytes {} to {} after the start of the buffer of {}, which has {}", user,
        address - block->begin, address - block->begin + bytes, block->what,
        block->end - block->begin);
  return block;
}

std::size_t Memory::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t Memory::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace treadle::gpu::metal
