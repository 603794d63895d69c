#include "base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/cpu_features.hpp"
#include "base/error.hpp"

namespace treadle {
namespace {

constexpr std::chrono::microseconds kSpin{20};
constexpr int kMaxThreads = 1024;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins for at most kSpin until `done()`; returns whether it was.
template <typename Done>
bool spin_until(Done&& done) {
  if (done()) return true;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      relax();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

class Serial final : public Parallel {
 public:
  int threads() const override { return 1; }
  void run(std::int64_t count, std::int64_t /*grain*/, RangeBody body) override {
    if (count > 0) body(0, count);
  }
};

// One job at a time. `gate_` holds the job's epoch, whether it is open, and how many workers are
// inside; a worker that wakes late finds the gate shut, so the caller never waits for it.
class ThreadPool final : public Parallel {
 public:
  explicit ThreadPool(int threads) : threads_(threads) {
    workers_.reserve(static_cast<std::size_t>(threads - 1));
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ThreadPool() override { stop(); }

  int threads() const override { return threads_; }

  void run(std::int64_t count, std::int64_t grain, RangeBody body) override {
    grain = std::max<std::int64_t>(grain, 1);
    if (count <= grain) {
      if (count > 0) body(0, count);
      return;
    }
    body_ = &body;
    count_ = count;
    grain_ = grain;
    fp_control_ = fp_control();
    next_.store(0, std::memory_order_relaxed);
    const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
    gate_.store(std::uint64_t{epoch} << 32 | kOpen, std::memory_order_release);
    epoch_.store(epoch, std::memory_order_release);
    epoch_.notify_all();
    claim();
    leave_gate_shut();
  }

 private:
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kInside = kOpen - 1;

  void stop() {
    stopping_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    for (std::thread& w : workers_) w.join();
  }

  void work() {
    std::uint32_t seen = 0;
    for (;;) {
      const auto fresh = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
      if (!spin_until(fresh)) epoch_.wait(seen, std::memory_order_acquire);
      seen = epoch_.load(std::memory_order_acquire);
      if (stopping_.load(std::memory_order_relaxed)) return;
      if (!enter()) continue;
      set_fp_control(fp_control_);
      claim();
      const std::uint64_t before = gate_.fetch_sub(1, std::memory_order_acq_rel);
      if ((before & kInside) == 1 && (before & kOpen) == 0) gate_.notify_all();
    }
  }

  bool enter() {
    std::uint64_t gate = gate_.load(std::memory_order_relaxed);
    while (gate & kOpen) {
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  // Takes shrinking ranges until none is left.
  void claim() {
    std::int64_t begin = next_.load(std::memory_order_relaxed);
    while (begin < count_) {
      const std::int64_t share = (count_ - begin) / (2 * threads_);
      const std::int64_t end = std::min(count_, begin + std::max(grain_, share));
      if (next_.compare_exchange_weak(begin, end, std::memory_order_relaxed)) {
        (*body_)(begin, end);
        begin = next_.load(std::memory_order_relaxed);
      }
    }
  }

  void leave_gate_shut() {
    std::uint64_t gate = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    const auto empty = [&] {
      gate = gate_.load(std::memory_order_acquire);
      return (gate & kInside) == 0;
    };
    while (!spin_until(empty)) gate_.wait(gate, std::memory_order_acquire);
  }

  const int threads_;
  std::vector<std::thread> workers_;
  const RangeBody* body_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  std::uint64_t fp_control_ = 0;
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint64_t> gate_{0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace

Parallel& serial() {
  static Serial instance;
  return instance;
}

std::unique_ptr<Parallel> make_thread_pool(int threads) {
  check(threads >= 1 && threads <= kMaxThreads, ErrorKind::Shape,
        "number of threads is {}, expected 1 to {}", threads, kMaxThreads);
  if (threads == 1) return std::make_unique<Serial>();
  return std::make_unique<ThreadPool>(threads);
}

}  // namespace treadle
