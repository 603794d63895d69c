// Where kernels say that they met an index out of range.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/dialect/types.hpp"
#include "plan/device.hpp"

namespace treadle::gpu {

// One slot a launch, in memory that host and device see: a kernel writes there only when it has
// something to say, so that looking costs no copy. The slots are zero when taken.
class Reports {
 public:
  struct Block {
    std::shared_ptr<void> host;
    DeviceAddress device = 0;
  };
  // `allocate` makes a block of so many bytes.
  explicit Reports(std::function<Block(std::size_t bytes)> allocate)
      : allocate_(std::move(allocate)) {}

  // The address, for the device, of a slot for a launch with this label, which is copied.
  DeviceAddress take(std::string_view label);
  // The text of the first report of a launch since the last call, or empty; all slots are zero
  // after. No kernel that has a slot may be running.
  std::string collect();
  // Gives the slots back, for launches that will not run again.
  void release() { used_ = 0; }
  bool empty() const { return used_ == 0; }

 private:
  static constexpr std::size_t kSlots = 64;  // in a block

  tk::tk_status& slot(std::size_t i) const {
    return static_cast<tk::tk_status*>(blocks_[i / kSlots].host.get())[i % kSlots];
  }

  std::function<Block(std::size_t)> allocate_;
  std::vector<Block> blocks_;
  std::vector<std::string> labels_;
  std::size_t used_ = 0;
};

}  // namespace treadle::gpu
