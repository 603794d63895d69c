// Memory of the sim device: readable only while commands run, filled with NaN when fresh, watched
// at its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "plan/device.hpp"

namespace treadle::gpu::sim {

class Memory : public std::enable_shared_from_this<Memory> {
 public:
  // Throws Memory error that names `what`.
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what);
  std::size_t bytes_in_use() const;
  std::size_t peak_bytes() const;

  // As long as one lives, the buffers of this device are open to this process.
  class Opened {
   public:
    explicit Opened(Memory& memory) : memory_(memory) { memory_.open(); }
    ~Opened() { memory_.close(); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

   private:
    Memory& memory_;
  };
  // Throws Error (kind Device) unless [address, address + bytes) lies within one living buffer.
  void check_range(DeviceAddress address, std::size_t bytes, std::string_view what) const;
  // Throws Error (kind Device) that names a buffer beside which something has been written. Under
  // AddressSanitizer the write itself is an error.
  void check_ends() const;

 private:
  class Buffer;
  struct Block {
    std::size_t bytes = 0;
    std::string what;
    char* mapping = nullptr;
    std::size_t mapped = 0;
  };
  void open();
  void close();
  void release(DeviceAddress address);

  mutable std::mutex mutex_;
  std::map<DeviceAddress, Block> blocks_;
  int opened_ = 0;
  std::size_t in_use_ = 0, peak_ = 0;
};

}  // namespace treadle::gpu::sim
