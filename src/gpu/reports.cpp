#include "gpu/reports.hpp"

#include <fmt/format.h>

#include <cstring>

namespace treadle::gpu {

DeviceAddress Reports::take(std::string_view label) {
  if (used_ == blocks_.size() * kSlots) {
    constexpr std::size_t kBytes = kSlots * sizeof(tk::tk_status);
    blocks_.push_back(allocate_(kBytes));
    std::memset(blocks_.back().host.get(), 0, kBytes);
  }
  if (labels_.size() == used_) labels_.emplace_back();
  labels_[used_] = label;
  const std::size_t i = used_++;
  return blocks_[i / kSlots].device + i % kSlots * sizeof(tk::tk_status);
}

std::string Reports::collect() {
  std::string text;
  for (std::size_t i = 0; i < used_; ++i) {
    tk::tk_status& status = slot(i);
    if (!status.met) continue;
    if (text.empty()) {
      text = fmt::format("{}: index {} is out of range, expected at least {} and below {}",
                         labels_[i], status.index, -status.limit, status.limit);
    }
    status = {};
  }
  return text;
}

}  // namespace treadle::gpu
