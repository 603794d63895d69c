// What a session holds on the device of its program: the queue and the memory.
#pragma once

#include <memory>
#include <vector>

#include "plan/binding.hpp"
#include "plan/device.hpp"

namespace treadle {

class SessionDevice {
 public:
  SessionDevice(std::shared_ptr<Device> device, std::size_t segments);

  DeviceQueue& queue() const { return *queue_; }

  // Memory for the values that the segment places on the device, and for the workspace; sets `data`
  // of their views. May move what an earlier binding of the segment had: recordings made before are
  // then void.
  void install(std::size_t segment, const Program& p, BoundSegment& bound,
               std::vector<TensorView>& views);
  void* workspace() const;

  // Host memory that copies to and from the device use; replaces `memory` when it is too small.
  void reserve_staging(std::unique_ptr<StagingBuffer>& memory, std::size_t bytes);

  // Runs the commands that `enqueue` puts on the queue: recorded when they come a second time with
  // the same memory, replayed from then on.
  template <typename F>
  void run(QueuedSpan& span, F&& enqueue) {
    if (span.memory != memory_) {
      span.recording = nullptr;
      span.memory = memory_;
      enqueue();
      return;
    }
    if (!span.recording) {
      queue_->begin_recording();
      try {
        enqueue();
      } catch (...) {
        queue_->end_recording();  // what was begun must be ended; it is let go
        throw;
      }
      span.recording = queue_->end_recording();
    }
    queue_->replay(*span.recording);
  }

 private:
  void reserve(DeviceBufferPtr& buffer, std::size_t bytes, const char* what);

  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceQueue> queue_;
  std::vector<DeviceBufferPtr> arenas_;
  DeviceBufferPtr workspace_;
  std::uint64_t memory_ = 1;  // changes when an address does
};

}  // namespace treadle
