// Where kernels say that they met an index out of range.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/metal/memory.hpp"

namespace treadle::gpu::metal {

// One tk_status a launch, zero when taken; read when all launches have ended.
class Reports {
 public:
  explicit Reports(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}

  struct Slot {
    const BufferObject* buffer;
    std::size_t offset;
  };
  // For a launch with this label, which must live until collect().
  Slot take(const char* label);
  // The text of the first report since the last call, or empty. Gives all slots back.
  std::string collect();

 private:
  std::shared_ptr<Memory> memory_;
  std::vector<BlockPtr> blocks_;
  std::vector<const char*> labels_;
  std::size_t used_ = 0;
};

}  // namespace treadle::gpu::metal
