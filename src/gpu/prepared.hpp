// Launches with their parameters, made when shapes and addresses are known and run many times.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "gpu/dialect/types.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu {

class PreparedLaunch {
 public:
  // `label` must outlive the launches that run.
  template <typename P>
  PreparedLaunch(KernelId kernel, Extent3 groups, Extent3 threads,
                 std::initializer_list<DeviceAddress> buffers, const P& params, const char* label)
      : launch_(make_launch(kernel, groups, threads, buffers, params, label)), params_(sizeof(P)) {
    std::memcpy(params_.data(), &params, sizeof(P));
    check_launch(launch_);
  }

  // Valid as long as this lives and is not moved.
  Launch get() const {
    Launch l = launch_;
    l.params = params_.data();
    return l;
  }

 private:
  Launch launch_;
  std::vector<std::byte> params_;
};
using PreparedLaunches = std::vector<PreparedLaunch>;

// For tk_div: divisors from 1 to 2^31 - 1. Granlund and Montgomery, "Division by Invariant Integers
// using Multiplication", section 4, for dividends of 31 bits.
inline tk::tk_divisor make_divisor(std::uint32_t divisor) {
  const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
  const std::uint64_t excess = (std::uint64_t{1} << shift) - divisor;
  return {divisor, static_cast<std::uint32_t>((excess << 32) / divisor + 1), shift};
}

// ceil(count / of).
inline std::uint32_t groups_of(std::int64_t count, std::int64_t of) {
  return static_cast<std::uint32_t>((count + of - 1) / of);
}

}  // namespace treadle::gpu
