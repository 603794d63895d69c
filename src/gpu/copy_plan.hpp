// Copies between strided places of device memory, of elements of 1, 2, 4, 8 or 16 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/prepared.hpp"
#include "ops/copy.hpp"

namespace treadle::gpu {

// to[to.offset + Σ i·to.strides] = from[from.offset + Σ i·from.strides] for each index i below
// `sizes`; strides may be 0 (of `from`) or negative. The caller has checked that both sides stay
// inside their buffers, which must not overlap. Throws Unsupported error when more than 6 axes are
// left after neighbouring ones have been merged, or a side spans more than 2^31 elements.
class CopyPlan {
 public:
  CopyPlan(std::span<const std::int64_t> sizes, const ops::Strided& to, const ops::Strided& from,
           std::size_t element_bytes);
  // None for an empty copy.
  PreparedLaunches prepare(DeviceAddress from, DeviceAddress to, const char* label) const;
  void run(Queue& queue, DeviceAddress from, DeviceAddress to, const char* label) const;

 private:
  struct Axis {
    std::int64_t size, to, from;
  };
  void merge();
  bool is_transpose() const;
  PreparedLaunch prepare_transpose(DeviceAddress from, DeviceAddress to, const char* label) const;
  PreparedLaunch prepare_plain(DeviceAddress from, DeviceAddress to, const char* label) const;
  std::size_t widest(DeviceAddress from, DeviceAddress to) const;

  std::vector<Axis> axes_;  // fastest of `to` first
  std::int64_t to_offset_, from_offset_;
  std::size_t bytes_;
  bool empty_ = false;
};

// `count` elements of the given size set to `value` (its first `element_bytes` bytes).
PreparedLaunches prepare_fill(DeviceAddress to, std::int64_t count, const void* value,
                              std::size_t element_bytes, const char* label);

// Runs them in their order.
void run(Queue& queue, const PreparedLaunches& launches);

}  // namespace treadle::gpu
