// What running a program asks of a device: memory, a queue of commands, recordings of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace treadle {

// An address in the memory of a device; host code must not read it.
using DeviceAddress = std::uint64_t;

// Views of values on a device hold its addresses as pointers.
inline DeviceAddress device_address(const void* pointer) {
  return static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(pointer));
}
inline void* device_pointer(DeviceAddress address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// Bytes in the memory of a device.
struct DeviceRange {
  DeviceAddress address = 0;
  std::size_t bytes = 0;
};

// A block of device memory, freed when the last owner lets go. Aligned to 256 bytes.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  DeviceAddress address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 protected:
  DeviceBuffer(DeviceAddress address, std::size_t bytes) : address_(address), bytes_(bytes) {}
  DeviceAddress address_;
  std::size_t bytes_;
};
using DeviceBufferPtr = std::shared_ptr<const DeviceBuffer>;

// Host memory that the device copies from and to without a detour (page-locked on CUDA).
class StagingBuffer {
 public:
  virtual ~StagingBuffer() = default;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 protected:
  StagingBuffer(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  std::size_t bytes_;
};

// What a queue has done since it was made. A replayed recording counts as the commands it holds.
struct DeviceCounters {
  std::int64_t launches = 0;
  std::int64_t copies_to_device = 0, copies_to_host = 0;
  std::int64_t bytes_to_device = 0, bytes_to_host = 0;
  std::int64_t syncs = 0;
};

// Commands in their order, kept to be run again with the same addresses.
class DeviceRecording {
 public:
  virtual ~DeviceRecording() = default;
};

// Commands run in order, at the latest at sync(). Used by one thread at a time. Every function
// throws Error (kind Device) that names the device and what it said.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  // Host memory must stay as it is until the next sync().
  virtual void upload(DeviceAddress to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, DeviceAddress from, std::size_t bytes) = 0;
  // Where the values lie that the launches from here on work on, until the next call: one that is
  // given an address in one of them touches nothing outside it, one that is given another address
  // may touch the whole buffer. For devices that Device::orders_by_values() says it of.
  virtual void work_on(std::span<const DeviceRange>) {}
  // Waits until all commands have run. An index out of range that a kernel met since the last sync
  // is thrown here: the text names the index, the limit and `label` of the launch.
  virtual void sync() = 0;

  // Between the two, commands are kept and not run; sync() is not allowed.
  virtual void begin_recording() = 0;
  virtual std::unique_ptr<DeviceRecording> end_recording() = 0;
  virtual void replay(const DeviceRecording& recording) = 0;

  virtual DeviceCounters counters() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view kind() const = 0;  // "cuda", "metal", "sim"
  virtual std::string name() const = 0;       // "NVIDIA H200 (sm_90, 139 GiB)"
  // Contents undefined (NaN patterns on sim). Throws Memory error with `what`, the bytes asked for
  // and the bytes free.
  virtual DeviceBufferPtr allocate(std::size_t bytes, std::string_view what) = 0;
  // A buffer that is the memory at `data` itself, which `owner` keeps and nobody writes; null where
  // the device cannot read that. It does not count as bytes in use.
  virtual DeviceBufferPtr wrap(const void*, std::size_t, std::shared_ptr<const void>,
                               std::string_view) {
    return nullptr;
  }
  virtual std::unique_ptr<StagingBuffer> allocate_staging(std::size_t bytes) = 0;
  virtual std::unique_ptr<DeviceQueue> make_queue() = 0;
  // True where each value should have a buffer of its own rather than a place in one arena, so that
  // an access beside it is found (sim under AddressSanitizer).
  virtual bool separate_buffers() const = 0;
  // True where launches run side by side and are ordered by what DeviceQueue::work_on says; others
  // need not be told.
  virtual bool orders_by_values() const { return false; }
  // Bytes of device memory held by buffers now, and the most that were held.
  virtual std::size_t bytes_in_use() const = 0;
  virtual std::size_t peak_bytes() const = 0;
};

// `bytes` bytes in a buffer of their own, copied when this returns. `queue` is one of the device's.
inline DeviceBufferPtr upload(Device& device, DeviceQueue& queue, const void* data,
                              std::size_t bytes, std::string_view what) {
  auto buffer = device.allocate(std::max<std::size_t>(bytes, 1), what);
  if (bytes == 0) return buffer;
  queue.upload(buffer->address(), data, bytes);
  queue.sync();
  return buffer;
}

// For constants that `owner` keeps: the device's own copy, or the memory itself where it reads
// that.
inline DeviceBufferPtr upload_kept(Device& device, DeviceQueue& queue, const void* data,
                                   std::size_t bytes, std::shared_ptr<const void> owner,
                                   std::string_view what) {
  if (auto wrapped = device.wrap(data, bytes, std::move(owner), what)) return wrapped;
  return upload(device, queue, data, bytes, what);
}

}  // namespace treadle
