#include "gpu/metal/reports.hpp"

#include <fmt/format.h>

#include "gpu/dialect/types.hpp"

namespace treadle::gpu::metal {

namespace {

constexpr std::size_t kSlots = 64;  // in a buffer

tk::tk_status& status_of(const std::vector<BlockPtr>& blocks, std::size_t i) {
  return static_cast<tk::tk_status*>(device_pointer(blocks[i / kSlots]->begin))[i % kSlots];
}

}  // namespace

Reports::Slot Reports::take(const char* label) {
  if (used_ == blocks_.size() * kSlots) {
    blocks_.push_back(memory_->scratch(kSlots * sizeof(tk::tk_status), "reports of kernels"));
  }
  if (labels_.size() == used_) labels_.push_back(nullptr);
  labels_[used_] = label;
  const std::size_t i = used_++;
  status_of(blocks_, i) = {};
  return {blocks_[i / kSlots]->buffer.get(), i % kSlots * sizeof(tk::tk_status)};
}

std::string Reports::collect() {
  std::string text;
  for (std::size_t i = 0; i < used_ && text.empty(); ++i) {
    const tk::tk_status& status = status_of(blocks_, i);
    if (!status.met) continue;
    text = fmt::format("{}: index {} is out of range, expected at least {} and below {}",
                       labels_[i], status.index, -status.limit, status.limit);
  }
  used_ = 0;
  return text;
}

}  // namespace treadle::gpu::metal
