#include "gpu/sim/queue.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "gpu/sim/registry.hpp"

namespace treadle::gpu::sim {

namespace {

// The shared memory of one group, of exactly the bytes that its struct has.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes)
      : bytes_(bytes), data_(::operator new (bytes, std::align_val_t{16})) {}
  ~SharedMemory() { ::operator delete (data_, std::align_val_t{16}); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void* fresh() const {
    std::memset(data_, 0xff, bytes_);
    return data_;
  }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace

class SimQueue::Recording final : public DeviceRecording {
 public:
  explicit Recording(std::vector<Command> c) : commands(std::move(c)) {}
  std::vector<Command> commands;
};

SimQueue::SimQueue(std::shared_ptr<Memory> memory, std::uint32_t seed)
    : memory_(std::move(memory)), runner_(seed), seed_(seed) {}

void SimQueue::add(Command command) {
  if (recording_) {
    recorded_.push_back(std::move(command));
    return;
  }
  count(command);
  commands_.push_back(std::move(command));
}

void SimQueue::count(const Command& command) {
  if (const auto* up = std::get_if<Upload>(&command)) {
    ++counters_.copies_to_device;
    counters_.bytes_to_device += static_cast<std::int64_t>(up->bytes);
  } else if (const auto* down = std::get_if<Download>(&command)) {
    ++counters_.copies_to_host;
    counters_.bytes_to_host += static_cast<std::int64_t>(down->bytes);
  } else {
    ++counters_.launches;
  }
}

void SimQueue::upload(DeviceAddress to, const void* from, std::size_t bytes) {
  memory_->check_range(to, bytes, "an upload");
  add(Upload{to, from, bytes});
}

void SimQueue::download(void* to, DeviceAddress from, std::size_t bytes) {
  memory_->check_range(from, bytes, "a download");
  add(Download{to, from, bytes});
}

void SimQueue::launch(const Launch& launch) {
  check_launch(launch);
  KernelCall call;
  call.launch = launch;
  call.params.fill(std::byte{0xff});
  std::memcpy(call.params.data(), launch.params, launch.param_bytes);
  call.launch.params = nullptr;
  add(std::move(call));
}

void SimQueue::begin_recording() {
  check(!recording_, ErrorKind::Device, "sim: the queue is recording already");
  recording_ = true;
}

std::unique_ptr<DeviceRecording> SimQueue::end_recording() {
  check(recording_, ErrorKind::Device, "sim: the queue is not recording");
  recording_ = false;
  return std::make_unique<Recording>(std::exchange(recorded_, {}));
}

void SimQueue::replay(const DeviceRecording& recording) {
  check(!recording_, ErrorKind::Device, "sim: a queue that is recording cannot replay");
  const auto* own = dynamic_cast<const Recording*>(&recording);
  check(own != nullptr, ErrorKind::Device, "sim: the recording is of another device");
  for (const Command& c : own->commands) add(c);
}

void SimQueue::sync() {
  check(!recording_, ErrorKind::Device, "sim: a queue that is recording cannot be waited for");
  ++counters_.syncs;
  const std::vector<Command> commands = std::exchange(commands_, {});
  index_error_.clear();
  {
    const Memory::Opened opened(*memory_);
    for (const Command& c : commands) run(c);
    memory_->check_ends();
  }
  check(index_error_.empty(), ErrorKind::Device, "{}", index_error_);
}

void SimQueue::run(const Command& command) {
  if (const auto* up = std::get_if<Upload>(&command)) {
    memory_->check_range(up->to, up->bytes, "an upload");
    if (up->bytes > 0) std::memcpy(reinterpret_cast<void*>(up->to), up->from, up->bytes);
  } else if (const auto* down = std::get_if<Download>(&command)) {
    memory_->check_range(down->from, down->bytes, "a download");
    if (down->bytes > 0) std::memcpy(down->to, reinterpret_cast<void*>(down->from), down->bytes);
  } else {
    const auto& call = std::get<KernelCall>(command);
    in_context(
        [&] {
          return fmt::format("{}: kernel {}", call.launch.label,
                             kernel_info(call.launch.kernel).name);
        },
        [&] { run_call(call); });
  }
}

void SimQueue::run_call(const KernelCall& call) {
  const Launch& launch = call.launch;
  const KernelInfo& info = kernel_info(launch.kernel);
  std::array<void*, kMaxBuffers + 1> buffers{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(launch.buffer_count); ++i) {
    memory_->check_range(launch.buffers[i], 0, "a buffer of the launch");
    buffers[i] = reinterpret_cast<void*>(launch.buffers[i]);
  }
  tk::tk_status status{};
  if (info.reports) buffers[static_cast<std::size_t>(launch.buffer_count)] = &status;
  run_groups(launch, {buffers.data(), call.params.data(), nullptr});
  if (status.met != 0 && index_error_.empty()) {
    index_error_ = fmt::format("{}: index {} is out of range, the limit is {}", launch.label,
                               status.index, status.limit);
  }
}

void SimQueue::run_groups(const Launch& launch, const KernelArguments& arguments) {
  const KernelInfo& info = kernel_info(launch.kernel);
  const SimKernel& kernel = sim_kernel(launch.kernel);
  const SharedMemory shared(std::max<std::size_t>(info.shared_bytes, sizeof(tk::tk_no_shared)));
  const auto [gx, gy, gz] = launch.groups;
  tk::tk_ctx c{};
  c.bdim = {launch.threads.x, launch.threads.y, launch.threads.z};
  c.gdim = {gx, gy, gz};
  const std::uint64_t count = std::uint64_t{gx} * gy * gz;
  // A random start and a stride without a common divisor visit every group once.
  std::uint64_t at = 0, stride = 1;
  if (seed_ != 0 && count > 1) {
    at = seed_ * 2654435761u % count;
    stride = at | 1u;
    while (std::gcd(stride, count) != 1) ++stride;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    c.bid = {static_cast<std::uint32_t>(at % gx), static_cast<std::uint32_t>(at / gx % gy),
             static_cast<std::uint32_t>(at / gx / gy)};
    KernelArguments a = arguments;
    a.shared = shared.fresh();
    runner_.run(kernel, info.barriers, a, c);
    at = (at + stride % count) % count;
  }
}

}  // namespace treadle::gpu::sim
