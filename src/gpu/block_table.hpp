// The buffers of a device whose addresses are addresses of this process: which of them an address
// lies in, and how many bytes they hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "plan/device.hpp"

namespace treadle::gpu {

// What every block has. Its destructor gives the memory back.
struct DeviceBlock {
  DeviceAddress begin = 0;
  std::size_t bytes = 0;
  std::string what;
  bool counted = true;  // as bytes in use
};

template <class Block>
class BlockTable : public std::enable_shared_from_this<BlockTable<Block>> {
 public:
  using BlockPtr = std::shared_ptr<const Block>;

  // `device`: for errors.
  explicit BlockTable(std::string_view device) : device_(device) {}

  // The buffer that keeps the block in the table, where no other has some of its bytes.
  DeviceBufferPtr add(BlockPtr block) {
    const Block& added = *block;
    const std::lock_guard lock(mutex_);
    blocks_.emplace(added.begin, std::move(block));
    if (added.counted) in_use_ += added.bytes;
    peak_ = std::max(peak_, in_use_);
    return std::make_shared<Buffer>(added, this->shared_from_this());
  }

  // The block that [address, address + bytes) lies in; throws Error (kind Device) that names `user`
  // when there is none.
  BlockPtr find(DeviceAddress address, std::size_t bytes, std::string_view user) const {
    const std::lock_guard lock(mutex_);
    auto it = blocks_.upper_bound(address);
    check(it != blocks_.begin(), ErrorKind::Device, "{}: {} uses an address in no buffer", device_,
          user);
    const BlockPtr& block = (--it)->second;
    const std::size_t offset = address - block->begin;
    check(offset <= block->bytes && bytes <= block->bytes - offset, ErrorKind::Device,
          "{}: {} uses bytes {} to {} after the start of the buffer of {}, which has {}", device_,
          user, offset, offset + bytes, block->what, block->bytes);
    return block;
  }

  // Whether a block has some of these bytes.
  bool overlaps(DeviceAddress begin, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto after = blocks_.lower_bound(begin + bytes);
    if (after == blocks_.begin()) return false;
    const Block& before = *std::prev(after)->second;
    return before.begin + before.bytes > begin;
  }

  template <typename F>
  void for_each(F&& f) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, block] : blocks_) f(*block);
  }

  std::size_t bytes_in_use() const {
    const std::lock_guard lock(mutex_);
    return in_use_;
  }
  std::size_t peak_bytes() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  class Buffer final : public DeviceBuffer {
   public:
    Buffer(const Block& block, std::shared_ptr<BlockTable> table)
        : DeviceBuffer(block.begin, block.bytes), table_(std::move(table)) {}
    ~Buffer() override { table_->remove(address_); }

   private:
    std::shared_ptr<BlockTable> table_;
  };

  void remove(DeviceAddress address) noexcept {
    BlockPtr last;  // freed when the lock is no longer held
    const std::lock_guard lock(mutex_);
    const auto it = blocks_.find(address);
    if (it->second->counted) in_use_ -= it->second->bytes;
    last = std::move(it->second);
    blocks_.erase(it);
  }

  std::string device_;
  mutable std::mutex mutex_;
  std::map<DeviceAddress, BlockPtr> blocks_;
  std::size_t in_use_ = 0, peak_ = 0;
};

}  // namespace treadle::gpu
