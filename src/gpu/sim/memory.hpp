// Memory of the sim device: readable only while commands run, filled with NaN when fresh, watched
// at its ends.
#pragma once

#include <cstddef>
#include <mutex>
#include <string_view>

#include "gpu/block_table.hpp"

namespace treadle::gpu::sim {

struct Block : DeviceBlock {
  ~Block();
  char* mapping = nullptr;
  std::size_t mapped = 0;
};

class Memory {
 public:
  // Throws Memory error that names `what`.
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what);
  std::size_t bytes_in_use() const { return blocks_->bytes_in_use(); }
  std::size_t peak_bytes() const { return blocks_->peak_bytes(); }

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
  void check_range(DeviceAddress address, std::size_t bytes, std::string_view what) const {
    blocks_->find(address, bytes, what);
  }
  // Throws Error (kind Device) that names a buffer beside which something has been written. Under
  // AddressSanitizer the write itself is an error.
  void check_ends() const;

 private:
  void open();
  void close();

  std::shared_ptr<BlockTable<Block>> blocks_ = std::make_shared<BlockTable<Block>>("sim");
  std::mutex mutex_;
  int opened_ = 0;
};

}  // namespace treadle::gpu::sim
