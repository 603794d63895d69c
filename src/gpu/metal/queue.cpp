// The queue of a Metal device.
//
// Everything between two sync()s goes to one command buffer with one encoder, begun by the first
// launch. Copies need no launch as long as no launch of it touches their bytes: the memory is
// shared. An upload to bytes that an earlier launch uses, and a download of bytes that a later
// command overwrites, are copies on the GPU, from and to memory of their own.
#include <cstring>

#include "gpu/command_queue.hpp"
#include "gpu/copy_plan.hpp"
#include "gpu/metal/device.hpp"
#include "gpu/metal/hazards.hpp"
#include "gpu/reports.hpp"

namespace treadle::gpu::metal {
namespace {

// All that encoding takes, so that a replay looks nothing up.
struct Call {
  Dispatch dispatch;
  std::array<Access, kMaxBuffers + 1> accesses{};

  void bind(const Block& block, DeviceAddress address, const Access& access) {
    dispatch.objects[dispatch.buffers] = block.buffer.get();
    dispatch.offsets[dispatch.buffers] = address - block.begin;
    accesses[dispatch.buffers++] = access;
  }
  std::span<const Access> touched() const { return {accesses.data(), dispatch.buffers}; }
};

// Memory of copies between launches, of use until the next sync().
class Scratch {
 public:
  DeviceAddress take(Device& device, std::size_t bytes) {
    const std::size_t size = (bytes + 15) / 16 * 16;
    const std::size_t last = blocks_.empty() ? 0 : blocks_.back()->bytes();
    if (last - used_ < size) {
      blocks_.push_back(device.allocate(std::max(size, 2 * last), "copies between launches"));
      used_ = 0;
    }
    used_ += size;
    return blocks_.back()->address() + used_ - size;
  }
  // The last block, the largest, stays for the next run.
  void release() {
    if (!blocks_.empty()) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
    used_ = 0;
  }

 private:
  std::vector<DeviceBufferPtr> blocks_;
  std::size_t used_ = 0;  // of the last
};

class MetalQueue final : public CommandQueue<Call> {
 public:
  explicit MetalQueue(std::shared_ptr<MetalDevice> device)
      : CommandQueue("Metal"), device_(std::move(device)), queue_(new_queue(device_->object())) {
    check(queue_ != nullptr, ErrorKind::Device, "Metal device ({}): it gives no command queue",
          device_->name());
  }
  ~MetalQueue() override {
    // An encoder must be ended before it goes; what was not waited for is not run.
    if (commands_.encoder) end_encoding(commands_);
  }

  void work_on(std::span<const DeviceRange> values) override {
    values_.assign(values.begin(), values.end());
  }

 private:
  void check_bytes(DeviceAddress address, std::size_t bytes, std::string_view user) const override {
    device_->blocks().find(address, bytes, user);
  }

  Call call_of(const Launch& launch) override {
    Call call;
    call.dispatch.pipeline = device_->pipelines().get(launch.kernel);
    call.dispatch.launch = launch;
    std::memcpy(call.dispatch.params.data(), launch.params, launch.param_bytes);
    for (std::size_t i = 0; i < static_cast<std::size_t>(launch.buffer_count); ++i) {
      const auto block = device_->blocks().find(launch.buffers[i], 0, launch.label);
      Access access = extent_of(launch.buffers[i], *block);
      access.writes = (kernel_info(launch.kernel).written >> i & 1) != 0;
      call.bind(*block, launch.buffers[i], access);
    }
    return call;
  }

  // What a launch may touch that is given `address`.
  Access extent_of(DeviceAddress address, const Block& block) const {
    const DeviceAddress end = block.begin + block.bytes;
    Access a{end, block.begin};
    for (const DeviceRange& v : values_) {
      if (address < v.address || address - v.address >= v.bytes) continue;
      a.begin = std::min(a.begin, v.address);
      a.end = std::max(a.end, v.address + v.bytes);
    }
    return a.begin < a.end ? a : Access{block.begin, end};
  }

  void perform(const Command& command) override {
    std::visit([&](const auto& c) { run(c); }, command);
  }

  void run(const Upload& upload) {
    if (upload.bytes == 0) return;
    const Access to{upload.to, upload.to + upload.bytes, true};
    keep_downloads(to);
    const bool pending = hazards_.pending(to);
    const DeviceAddress now = pending ? scratch_.take(*device_, upload.bytes) : upload.to;
    std::memcpy(device_pointer(now), upload.from, upload.bytes);
    if (pending) copy(now, upload.to, upload.bytes);
  }

  void run(const Download& download) {
    if (hazards_.pending(source(download))) {
      waiting_.push_back(download);
    } else if (download.bytes > 0) {
      std::memcpy(download.to, device_pointer(download.from), download.bytes);
    }
  }
  static Access source(const Download& d) { return {d.from, d.from + d.bytes, false}; }

  void run(const Call& call) {
    for (const Access& a : call.touched()) {
      if (a.writes) keep_downloads(a);
    }
    const Launch& launch = call.dispatch.launch;
    launches_.add(launch);
    if (!kernel_info(launch.kernel).reports) return encode(call);
    Call reporting = call;
    const DeviceAddress slot = reports_.take(launch.label);
    reporting.bind(*device_->blocks().find(slot, 0, launch.label), slot, {});
    encode(reporting);
  }

  void encode(const Call& call) {
    if (!commands_.encoder) commands_ = new_commands(queue_.get());
    check(commands_.encoder != nullptr, ErrorKind::Device,
          "Metal device ({}): it gives no compute encoder", device_->name());
    if (hazards_.conflict(call.touched())) {
      barrier(commands_);
      hazards_.barrier();
    }
    hazards_.add(call.touched());
    metal::encode(commands_, call.dispatch);
  }

  // Before a command overwrites what a download still waits for, the GPU copies that.
  void keep_downloads(const Access& written) {
    for (Download& d : waiting_) {
      if (!overlap(source(d), written)) continue;
      const DeviceAddress kept = scratch_.take(*device_, d.bytes);
      copy(d.from, kept, d.bytes);
      d.from = kept;
    }
  }

  void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // by one launch
    for (std::size_t part; bytes > 0; from += part, to += part, bytes -= part) {
      part = std::min(bytes, kMost);
      const std::int64_t size = static_cast<std::int64_t>(part);
      const CopyPlan plan({&size, 1}, {0, {1}}, {0, {1}}, 1);
      for (const PreparedLaunch& l : plan.prepare(from, to, "a copy between launches")) {
        Call call = call_of(l.get());
        call.accesses = {{{from, from + part, false}, {to, to + part, true}}};
        encode(call);
      }
    }
  }

  void finish() override {
    std::string error = commands_.encoder ? metal::run(commands_) : std::string();
    if (!error.empty()) {
      error = fmt::format("Metal device ({}): {}: {}", device_->name(), launches_.waiting(), error);
      waiting_.clear();
    }
    commands_ = {};
    hazards_.clear();
    for (const Download& d : std::exchange(waiting_, {})) run(d);
    scratch_.release();
    launches_.clear();
    const std::string report = reports_.collect();
    reports_.release();
    check(error.empty(), ErrorKind::Device, "{}", error);
    check(report.empty(), ErrorKind::Device, "{}", report);
    device_->pipelines().save();
  }

  std::shared_ptr<MetalDevice> device_;
  Owned<QueueObject> queue_;
  Commands commands_;
  Hazards hazards_;
  std::vector<DeviceRange> values_;
  std::vector<Download> waiting_;  // for launches
  Scratch scratch_;
  Reports reports_{[this](std::size_t bytes) -> Reports::Block {
    const DeviceBufferPtr buffer = device_->allocate(bytes, "reports of kernels");
    return {{buffer, device_pointer(buffer->address())}, buffer->address()};
  }};
  LaunchSpan launches_;
};

}  // namespace

std::unique_ptr<DeviceQueue> MetalDevice::make_queue() {
  return std::make_unique<MetalQueue>(shared_from_this());
}

}  // namespace treadle::gpu::metal
