// Runs the threads of one group of a kernel: fibers where the kernel has barriers or warp
// operations, a plain loop where it has none.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <source_location>
#include <vector>

#include "gpu/dialect/dialect.hpp"
#include "gpu/queue.hpp"
#include "gpu/sim/fiber.hpp"

namespace treadle::gpu::sim {

// Used by one OS thread. Each warp is driven as far as it goes before the next one, so that one
// which runs ahead through a missing barrier does so; the order of warps and lanes is that of their
// numbers for seed 0 and else random, drawn anew at each barrier.
class GroupRunner {
 public:
  explicit GroupRunner(std::uint32_t seed) : seed_(seed), random_(seed) {}

  // Throws Error (kind Internal) when the threads do not meet at the same barriers and warp
  // operations, and what the kernel throws.
  void run(const SimKernel& kernel, bool barriers, const KernelArguments& arguments,
           const tk::tk_ctx& context);

  // For the thread that runs now; see fiber_api.hpp.
  void barrier(const std::source_location& at);
  std::array<std::uint32_t, 32> exchange(std::uint32_t value, const std::source_location& at);
  void async_copy16(void* to, const void* from, bool take);
  void async_commit();
  void async_wait(int unfinished);

 private:
  enum class Wait : std::uint8_t { None, Barrier, Warp, Done };
  struct Copy {
    void* to;
    const void* from;
    bool take;
  };
  struct Thread {
    GroupRunner* owner = nullptr;
    Fiber fiber;
    Wait wait = Wait::None;
    std::source_location at;
    std::uint32_t slots[2] = {};
    std::uint32_t exchanges = 0, barriers = 0;
    std::vector<Copy> copies;          // not yet made
    std::vector<std::size_t> commits;  // how many of them each commit covers
    tk::tk_ctx context;
  };

  void prepare(std::size_t count, const tk::tk_ctx& context);
  static void run_thread(void* thread);
  void drive_all();
  bool drive_warp(std::size_t warp);
  bool release_warp(std::size_t warp);
  bool release_barrier();
  [[noreturn]] void fail_stuck() const;
  void suspend(Wait wait, const std::source_location& at);
  void order(std::vector<std::uint32_t>& items);

  std::uint32_t seed_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t count_ = 0;
  Thread* running_ = nullptr;
  std::vector<std::uint32_t> warps_, lanes_;
  const SimKernel* kernel_ = nullptr;
  const KernelArguments* arguments_ = nullptr;
  std::exception_ptr error_;
  // What ThreadSanitizer orders by. Barriers take the two of `met_` in turn, so that what a thread
  // does after a barrier is not before what another one, released later, does after the same
  // barrier.
  char started_ = 0, met_[2] = {}, ended_ = 0;
};

}  // namespace treadle::gpu::sim
