// Memory that the host and the GPU share, and which buffer an address lies in.
//
// A DeviceAddress is the address at which the host sees the bytes (MTLBuffer.contents), so it is
// unique in the process. The table below, sorted by address, turns it into what Metal's encoders
// take: a buffer and an offset.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "gpu/metal/api.hpp"
#include "plan/device.hpp"

namespace treadle::gpu::metal {

struct Block : std::enable_shared_from_this<Block> {
  Owned<BufferObject> buffer;
  DeviceAddress begin = 0, end = 0;
  std::string what;
  std::shared_ptr<const void> owner;  // of wrapped memory
};
using BlockPtr = std::shared_ptr<const Block>;

class Memory : public std::enable_shared_from_this<Memory> {
 public:
  // `device` outlives this.
  Memory(DeviceObject* device, DeviceFacts facts) : device_(device), facts_(std::move(facts)) {}

  // Throws Memory error that names `what`.
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what);
  // The same without a place in the table and not counted, for what a queue needs itself.
  BlockPtr scratch(std::size_t bytes, std::string_view what) const;
  // See Device::wrap: where `data` lies at a page's start, and has kMapFrom bytes or more.
  DeviceBufferPtr wrap(const void* data, std::size_t bytes, std::shared_ptr<const void> owner,
                       std::string_view what);
  // The block that [address, address + bytes) lies in; throws Error (kind Device) when there is
  // none.
  BlockPtr find(DeviceAddress address, std::size_t bytes, std::string_view user) const;

  std::size_t bytes_in_use() const;
  std::size_t peak_bytes() const;

 private:
  class Buffer;
  // With the lock, to which release() comes only later.
  DeviceBufferPtr add(BlockPtr block, std::size_t bytes);
  void release(DeviceAddress address, std::size_t bytes) noexcept;

  DeviceObject* device_;
  DeviceFacts facts_;
  mutable std::mutex mutex_;
  std::map<DeviceAddress, BlockPtr> blocks_;
  std::size_t in_use_ = 0, peak_ = 0;
};

}  // namespace treadle::gpu::metal
