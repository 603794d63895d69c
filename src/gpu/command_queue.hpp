// A queue that has its commands as data, for devices without recordings of their own: those of a
// recording are kept, all others are performed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu {

template <class Call>  // what a launch becomes
class CommandQueue : public Queue {
 public:
  void upload(DeviceAddress to, const void* from, std::size_t bytes) final {
    if (bytes == 0) return;  // what is empty may lie in no buffer
    check_bytes(to, bytes, "an upload");
    add(Upload{to, from, bytes});
  }
  void download(void* to, DeviceAddress from, std::size_t bytes) final {
    if (bytes == 0) return;
    check_bytes(from, bytes, "a download");
    add(Download{to, from, bytes});
  }
  void launch(const Launch& launch) final {
    check_launch(launch);
    add(call_of(launch));
  }
  void sync() final {
    check(!recording_, ErrorKind::Device, "{} queue: sync() while recording", device_);
    ++counters_.syncs;
    finish();
  }
  void begin_recording() final {
    check(!recording_, ErrorKind::Device, "{} queue: already recording", device_);
    recording_ = std::make_unique<Recording>();
  }
  std::unique_ptr<DeviceRecording> end_recording() final {
    check(recording_ != nullptr, ErrorKind::Device, "{} queue: not recording", device_);
    return std::move(recording_);
  }
  void replay(const DeviceRecording& recording) final {
    check(!recording_, ErrorKind::Device, "{} queue: replay while recording", device_);
    const auto* own = dynamic_cast<const Recording*>(&recording);
    check(own != nullptr, ErrorKind::Device, "{} queue: a recording of another device", device_);
    for (const Command& command : own->commands) count_and_perform(command);
  }
  DeviceCounters counters() const final { return counters_; }

 protected:
  struct Upload {
    DeviceAddress to;
    const void* from;
    std::size_t bytes;
  };
  struct Download {
    void* to;
    DeviceAddress from;
    std::size_t bytes;
  };
  using Command = std::variant<Upload, Download, Call>;

  // `device`: for errors.
  explicit CommandQueue(std::string_view device) : device_(device) {}

  // Throws Error (kind Device) unless the bytes lie in a buffer.
  virtual void check_bytes(DeviceAddress address, std::size_t bytes,
                           std::string_view user) const = 0;
  virtual Call call_of(const Launch& launch) = 0;
  // Now or in finish(), in the order of the calls.
  virtual void perform(const Command& command) = 0;
  // The rest of sync().
  virtual void finish() = 0;

 private:
  struct Recording final : DeviceRecording {
    std::vector<Command> commands;
  };

  void add(Command command) {
    if (recording_) {
      recording_->commands.push_back(std::move(command));
    } else {
      count_and_perform(command);
    }
  }
  void count_and_perform(const Command& command) {
    if (const auto* up = std::get_if<Upload>(&command)) {
      ++counters_.copies_to_device;
      counters_.bytes_to_device += static_cast<std::int64_t>(up->bytes);
    } else if (const auto* down = std::get_if<Download>(&command)) {
      ++counters_.copies_to_host;
      counters_.bytes_to_host += static_cast<std::int64_t>(down->bytes);
    } else {
      ++counters_.launches;
    }
    perform(command);
  }

  std::string device_;
  std::unique_ptr<Recording> recording_;  // null: performing
  DeviceCounters counters_;
};

}  // namespace treadle::gpu
