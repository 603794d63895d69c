// Where kernels say that they met an index out of range.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda/context.hpp"
#include "gpu/dialect/types.hpp"

namespace treadle::gpu::cuda {

// One slot a launch, in page-locked host memory that the device sees: a kernel writes there only
// when it has something to say, so that looking costs no copy. The slots are zero when taken.
class Reports {
 public:
  explicit Reports(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  ~Reports();
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  // The address, for the device, of a slot for a launch with this label, which is copied.
  Pointer take(std::string_view label);
  // The text of the first report of a launch since the last call, or empty; all slots are zero
  // after. No kernel that has a slot may be running.
  std::string collect();
  // Gives the slots back, for launches that will not run again.
  void release() { used_ = 0; }
  bool empty() const { return used_ == 0; }

 private:
  static constexpr std::size_t kBlock = 64;  // slots that are allocated together

  tk::tk_status& slot(std::size_t i) { return blocks_[i / kBlock].host[i % kBlock]; }

  struct Block {
    tk::tk_status* host;
    Pointer device;
  };
  std::shared_ptr<DeviceContext> context_;
  std::vector<Block> blocks_;
  std::vector<std::string> labels_;
  std::size_t used_ = 0;
};

}  // namespace treadle::gpu::cuda
