// Runs the groups of a dispatch, on all cores where there are enough threads to run.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "command.hpp"
#include "fault.hpp"

namespace softmetal {

namespace {

constexpr std::uint64_t kThreadsWorthSharing = 4096;

// Threads that help with a dispatch; they live as long as the process.
class Helpers {
 public:
  static Helpers& instance() {
    static auto* helpers = new Helpers;  // its threads never end
    return *helpers;
  }
  // Calls the function on this thread and on every helper, and returns when all have returned.
  void run(const std::function<void()>& function) {
    std::unique_lock lock(mutex_);
    function_ = &function;
    ++round_;
    busy_ = count_;
    wake_.notify_all();
    lock.unlock();
    function();
    lock.lock();
    done_.wait(lock, [this] { return busy_ == 0; });
    function_ = nullptr;
  }
  // After a fork there are no helpers.
  bool usable() const { return count_ > 0 && getpid() == process_; }

 private:
  Helpers() : process_(getpid()) {
    count_ = std::max(1u, std::thread::hardware_concurrency()) - 1;
    for (unsigned i = 0; i < count_; ++i) std::thread([this] { help(); }).detach();
  }
  void help() {
    watch_memory();
    std::uint64_t seen = 0;
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      const auto* function = function_;
      lock.unlock();
      (*function)();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  const pid_t process_;
  unsigned count_ = 0, busy_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void()>* function_ = nullptr;
  std::uint64_t round_ = 0;
};

// The arguments that setBytes gave, in memory with a page without access after it.
std::deque<Guarded>& inline_arguments() {
  static auto* all = [] {
    auto* made = new std::deque<Guarded>;
    for (std::size_t i = 0; i < kBufferSlots; ++i) made->emplace_back(kMaxInlineBytes);
    return made;
  }();
  return *all;
}

void run_groups(const Command& c, const std::uint64_t* arguments, const Extent& groups,
                std::atomic<std::uint64_t>& next) {
  thread_local GroupRunner runner;
  const Kernel& kernel = c.pipeline->function->kernel;
  std::uint64_t own[kArguments];
  std::memcpy(own, arguments, sizeof own);
  const std::string name = "kernel " + kernel.name;
  set_doing(name.c_str());
  for (const Parameter& p : kernel.parameters) {
    if (p.kind != Parameter::Kind::Threadgroup) continue;
    own[32 + p.index] = reinterpret_cast<std::uint64_t>(
        runner.threadgroup_argument(p.index, c.threadgroup[p.index]));
  }
  const std::uint64_t count = std::uint64_t{groups[0]} * groups[1] * groups[2];
  for (std::uint64_t g = next++; g < count; g = next++) {
    const std::uint64_t place[3] = {g % groups[0], g / groups[0] % groups[1],
                                    g / (std::uint64_t{groups[0]} * groups[1])};
    Positions p = {};
    const auto at = [&p](Position which) { return p.v[static_cast<std::size_t>(which)]; };
    Extent threads;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::uint64_t first = place[d] * c.threads.v[d];
      threads[d] = static_cast<std::uint32_t>(std::min(c.threads.v[d], c.grid.v[d] - first));
      at(Position::ThreadgroupInGrid)[d] = static_cast<std::uint32_t>(place[d]);
      at(Position::ThreadsPerThreadgroup)[d] = threads[d];
      at(Position::ThreadgroupsPerGrid)[d] = groups[d];
      at(Position::ThreadsPerGrid)[d] = static_cast<std::uint32_t>(c.grid.v[d]);
      at(Position::DispatchThreadsPerThreadgroup)[d] = static_cast<std::uint32_t>(c.threads.v[d]);
    }
    at(Position::SimdgroupsPerThreadgroup)[0] = static_cast<std::uint32_t>(
        (std::uint64_t{threads[0]} * threads[1] * threads[2] + kSimdWidth - 1) / kSimdWidth);
    at(Position::ThreadsPerSimdgroup)[0] = kSimdWidth;
    runner.run(name.c_str(), c.pipeline->function->entry, own, p, threads);
  }
  set_doing(nullptr);
}

}  // namespace

void run_dispatch(const Command& c, const Access* access) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::uint64_t arguments[kArguments] = {};
  for (std::size_t i = 0; i < c.bindings.size(); ++i) {
    const Binding& b = c.bindings[i];
    if (b.buffer) {
      arguments[i] = reinterpret_cast<std::uint64_t>(b.buffer->device() + b.offset);
    } else if (!b.bytes.empty()) {
      char* place = inline_arguments()[i].place(b.bytes.size());
      std::memcpy(place, b.bytes.data(), b.bytes.size());
      arguments[i] = reinterpret_cast<std::uint64_t>(place);
    }
  }
  Extent groups;
  for (std::size_t d = 0; d < 3; ++d) {
    groups[d] = static_cast<std::uint32_t>((c.grid.v[d] + c.threads.v[d] - 1) / c.threads.v[d]);
  }
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    set_access(access);
    run_groups(c, arguments, groups, next);
    set_access(nullptr);
  };
  if (c.grid.product() >= kThreadsWorthSharing && Helpers::instance().usable()) {
    Helpers::instance().run(work);
  } else {
    work();
  }
}

}  // namespace softmetal
