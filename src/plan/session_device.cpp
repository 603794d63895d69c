#include "plan/session_device.hpp"

namespace treadle {
SessionDevice::SessionDevice(std::shared_ptr<Device> device, std::size_t segments)
    : device_(std::move(device)), queue_(device_->make_queue()), arenas_(segments) {}

void SessionDevice::reserve(DeviceBufferPtr& buffer, std::size_t bytes, const char* what) {
  if (bytes == 0 || (buffer && buffer->bytes() >= bytes)) return;
  queue_->sync();
  ++memory_;
  buffer = nullptr;
  buffer = device_->allocate(bytes, what);
}

void SessionDevice::reserve_staging(std::unique_ptr<StagingBuffer>& memory, std::size_t bytes) {
  if (memory && memory->bytes() >= bytes) return;
  queue_->sync();
  ++memory_;
  memory = nullptr;
  memory = device_->allocate_staging(bytes);
}

void SessionDevice::install(std::size_t segment, const Program& p, BoundSegment& bound,
                            std::vector<TensorView>& views) {
  reserve(workspace_, bound.device_workspace_bytes, "the workspace");
  if (device_->separate_buffers()) {
    if (bound.device_buffers.empty() && !bound.device_places.empty()) {
      ++memory_;
      for (const auto& [place, bytes] : bound.device_places) {
        const std::string& name = p.values[static_cast<std::size_t>(place)].name;
        bound.device_buffers[place] =
            device_->allocate(static_cast<std::size_t>(bytes), "value '" + name + "'");
      }
    }
    for (const auto& [v, offset] : bound.offsets) {
      if (!p.values[static_cast<std::size_t>(v)].on_device) continue;
      const int place = p.place[static_cast<std::size_t>(v)];
      views[static_cast<std::size_t>(v)].data =
          device_pointer(bound.device_buffers.at(place)->address());
    }
    return;
  }
  DeviceBufferPtr& arena = arenas_[segment];
  reserve(arena, static_cast<std::size_t>(bound.device_arena_bytes), "the arena of values");
  for (const auto& [v, offset] : bound.offsets) {
    if (!p.values[static_cast<std::size_t>(v)].on_device) continue;
    const DeviceAddress base = arena ? arena->address() : 0;
    views[static_cast<std::size_t>(v)].data =
        device_pointer(base + static_cast<DeviceAddress>(offset));
  }
}

void* SessionDevice::workspace() const {
  return workspace_ ? device_pointer(workspace_->address()) : nullptr;
}

}  // namespace treadle
