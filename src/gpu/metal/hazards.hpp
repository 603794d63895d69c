// Which bytes the launches of an encoder have read and written.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "plan/device.hpp"

namespace treadle::gpu::metal {

struct Access {
  DeviceAddress begin = 0, end = 0;
  bool writes = false;
};
inline bool overlap(const Access& a, const Access& b) {
  return a.begin < b.end && b.begin < a.end;
}

class Hazards {
 public:
  // Whether a launch with these accesses must wait for one since the last barrier: it reads what
  // that wrote, or overwrites what that read or wrote.
  bool conflict(std::span<const Access> next) const {
    return std::ranges::any_of(next, [&](const Access& n) { return met(n, since_); });
  }
  void barrier() { since_ = all_.size(); }
  void add(std::span<const Access> next) { all_.insert(all_.end(), next.begin(), next.end()); }
  // Whether the host may not touch these bytes now, because a launch since clear() will.
  bool pending(const Access& host) const { return met(host, 0); }
  void clear() {
    all_.clear();
    since_ = 0;
  }

 private:
  bool met(const Access& a, std::size_t from) const {
    return std::any_of(all_.begin() + static_cast<std::ptrdiff_t>(from), all_.end(),
                       [&](const Access& b) { return (a.writes || b.writes) && overlap(a, b); });
  }

  std::vector<Access> all_;
  std::size_t since_ = 0;  // the first after the last barrier
};

}  // namespace treadle::gpu::metal
