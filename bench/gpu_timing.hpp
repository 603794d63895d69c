// How the device benchmarks measure time: replayed recordings of many runs in a row.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/queue.hpp"

namespace treadle::bench {

class DeviceTimer {
 public:
  explicit DeviceTimer(bool sim)
      : device_(sim ? gpu::make_sim_device() : gpu::make_cuda_device()),
        queue_(device_->make_queue()) {}

  Device& device() const { return *device_; }

  // At least 16 bytes of small numbers.
  DeviceBufferPtr filled(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 16));
    DeviceBufferPtr buffer = device_->allocate(size, "bench");
    std::vector<std::uint16_t> values((size + 1) / 2);
    // 0.5 and the like in f32 as in f16.
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::uint16_t>(0x3800u + i * 2654435761u % 512);
    }
    queue_->upload(buffer->address(), values.data(), size);
    queue_->sync();
    return buffer;
  }

  // Microseconds a call of enqueue(Queue&): the median of 9 on a device, one run on sim.
  template <typename F>
  double time(F&& enqueue) {
    const auto chain = [&](int count) {
      queue_->begin_recording();
      for (int i = 0; i < count; ++i) enqueue(dynamic_cast<gpu::Queue&>(*queue_));
      return queue_->end_recording();
    };
    const auto one = chain(1);
    replay(*one, 1);
    const double first = replay(*one, 1);
    if (device_->kind() == "sim") return first;
    const int count = static_cast<int>(std::clamp(2000.0 / first, 1.0, 50.0));
    const auto many = chain(count);
    const int rounds = static_cast<int>(std::clamp(20000.0 / replay(*many, 1), 1.0, 250.0));
    std::vector<double> times;
    for (int i = 0; i < 9; ++i) times.push_back(replay(*many, rounds) / (count * rounds));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  double replay(const DeviceRecording& recording, int rounds) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) queue_->replay(recording);
    queue_->sync();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
        .count();
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceQueue> queue_;
};

}  // namespace treadle::bench
