#include "gpu/sim/queue.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>
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

// Fewer groups than this are not worth waking a thread for.
constexpr std::int64_t kManyGroups = 32;

// Which group is run as the i-th: the i-th for seed 0, else one of an order in which a random start
// and a stride without a common divisor visit each group once.
class GroupOrder {
 public:
  GroupOrder(const Extent3& groups, std::uint32_t seed)
      : groups_(groups), count_(std::uint64_t{groups.x} * groups.y * groups.z) {
    if (seed == 0 || count_ == 1 || count_ >> 32 != 0) return;
    start_ = seed * 2654435761u % count_;
    stride_ = start_ | 1u;
    while (std::gcd(stride_, count_) != 1) ++stride_;
  }
  std::uint64_t count() const { return count_; }
  tk::tk_uint3 at(std::uint64_t i) const {
    const std::uint64_t flat = (start_ + i * stride_) % count_;
    const auto narrow = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
    return {narrow(flat % groups_.x), narrow(flat / groups_.x % groups_.y),
            narrow(flat / groups_.x / groups_.y)};
  }

 private:
  Extent3 groups_;
  std::uint64_t count_, start_ = 0, stride_ = 1;
};

}  // namespace

SimQueue::SimQueue(std::shared_ptr<Memory> memory, const SimOptions& options)
    : CommandQueue("sim"), memory_(std::move(memory)), options_(options) {}

SimQueue::~SimQueue() = default;

KernelCall SimQueue::call_of(const Launch& launch) {
  KernelCall call;
  call.launch = launch;
  call.params.fill(std::byte{0xff});
  std::memcpy(call.params.data(), launch.params, launch.param_bytes);
  call.launch.params = nullptr;
  return call;
}

void SimQueue::finish() {
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

std::unique_ptr<GroupRunner> SimQueue::take_runner() {
  const std::lock_guard lock(mutex_);
  if (runners_.empty()) return std::make_unique<GroupRunner>(options_.seed);
  std::unique_ptr<GroupRunner> runner = std::move(runners_.back());
  runners_.pop_back();
  return runner;
}

void SimQueue::give_runner(std::unique_ptr<GroupRunner> runner) {
  const std::lock_guard lock(mutex_);
  runners_.push_back(std::move(runner));
}

void SimQueue::run_groups(const Launch& launch, const KernelArguments& arguments) {
  const KernelInfo& info = kernel_info(launch.kernel);
  const SimKernel& kernel = sim_kernel(launch.kernel);
  const GroupOrder order(launch.groups, options_.seed);
  std::exception_ptr error;
  const auto run_range = [&](std::int64_t begin, std::int64_t end) {
    try {
      std::unique_ptr<GroupRunner> runner = take_runner();
      const SharedMemory shared(std::max<std::size_t>(info.shared_bytes, sizeof(tk::tk_no_shared)));
      KernelArguments a = arguments;
      tk::tk_ctx c{};
      c.bdim = {launch.threads.x, launch.threads.y, launch.threads.z};
      c.gdim = {launch.groups.x, launch.groups.y, launch.groups.z};
      for (std::int64_t i = begin; i < end; ++i) {
        c.bid = order.at(static_cast<std::uint64_t>(i));
        a.shared = shared.fresh();
        runner->run(kernel, info.barriers, a, c);
      }
      give_runner(std::move(runner));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (error == nullptr) error = std::current_exception();
    }
  };
  const auto count = static_cast<std::int64_t>(order.count());
  if (count < kManyGroups || options_.threads == 1) {
    run_range(0, count);
  } else {
    if (threads_ == nullptr) {
      const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
      threads_ = make_thread_pool(options_.threads > 0 ? options_.threads : cores);
    }
    threads_->run(count, kManyGroups / 4, run_range);
  }
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace treadle::gpu::sim
