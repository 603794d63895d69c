#include "gpu/cuda/reports.hpp"

#include <cstring>

namespace treadle::gpu::cuda {

Reports::~Reports() {
  for (const Block& block : blocks_) context_->free_host(block.host);
}

Pointer Reports::take(std::string_view label) {
  if (used_ == blocks_.size() * kBlock) {
    blocks_.reserve(blocks_.size() + 1);
    const std::size_t bytes = kBlock * sizeof(tk::tk_status);
    void* const host = context_->allocate_host(bytes);
    std::memset(host, 0, bytes);
    blocks_.push_back({static_cast<tk::tk_status*>(host), 0});
    const ContextScope scope(*context_);
    context_->check(context_->driver().host_device_pointer(&blocks_.back().device, host, 0),
                    "looking up page-locked memory");
  }
  if (labels_.size() == used_) labels_.emplace_back();
  labels_[used_] = label;
  const std::size_t i = used_++;
  return blocks_[i / kBlock].device + i % kBlock * sizeof(tk::tk_status);
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

}  // namespace treadle::gpu::cuda
