// Runs the threads of one threadgroup: one after the other until one waits at a barrier or an
// operation of its simdgroup, then each on a stack of its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpu/sim/fiber.hpp"
#include "memory.hpp"
#include "translate.hpp"

namespace softmetal {

using Extent = std::array<std::uint32_t, 3>;
inline constexpr std::uint32_t kSimdWidth = 32;
inline constexpr std::size_t kSlotBytes = 16;
inline constexpr std::size_t kMaxThreads = 1024;
inline constexpr std::size_t kMaxThreadgroupBytes = 32 * 1024;
inline constexpr std::size_t kArguments = 64;  // 31 buffers; threadgroup memory from 32 on

// By Position; each takes 16 bytes, as uint3 does.
struct Positions {
  alignas(16) std::uint32_t v[kPositions][4];
};
using Entry = void (*)(const std::uint64_t* arguments, const Positions* positions);

// Used by one thread of this process. Each simdgroup is driven as far as it goes before the next
// one, so that one which runs ahead through a missing barrier does so. With a seed (environment
// SOFTMETAL_SEED) that is not 0 the order of simdgroups and lanes is random.
class GroupRunner {
 public:
  GroupRunner();
  // `place` has all but what differs between the threads of the group. `threads` of this group.
  void run(const char* kernel, Entry entry, const std::uint64_t* arguments, const Positions& place,
           const Extent& threads);

  // For the thread that runs now.
  static GroupRunner& current();
  void barrier(std::uint32_t line);
  const void* exchange(const void* value, std::uint32_t bytes, std::uint32_t* active,
                       std::uint32_t line);
  std::uint32_t lane() const;
  char* threadgroup_variable(std::uint32_t index, std::uint64_t bytes);
  // Memory of [[threadgroup(n)]], the same for all groups.
  char* threadgroup_argument(std::uint32_t index, std::uint64_t bytes);

 private:
  enum class State : std::uint8_t { New, Ready, Barrier, Simdgroup, Done };
  struct Stack {
    treadle::gpu::sim::Fiber fiber;
    GroupRunner* owner = nullptr;
    bool started = false;
  };
  struct Thread {
    State state = State::New;
    std::uint32_t line = 0;
    Stack* stack = nullptr;
  };
  struct Simdgroup {
    alignas(16) unsigned char slots[2][kSimdWidth][kSlotBytes];
    std::uint32_t round = 0, active = 0;
  };

  static void run_stack(void* stack);
  void run_thread(std::uint32_t thread);
  void resume(std::uint32_t thread);
  bool drive_simdgroup(std::uint32_t simdgroup);
  bool release_simdgroup(std::uint32_t simdgroup);
  bool release_barrier();
  void suspend(State state, std::uint32_t line);
  [[noreturn]] void fault_parted() const;
  std::string describe(std::uint32_t thread) const;
  void order(std::vector<std::uint32_t>& items);
  char* memory(std::vector<std::unique_ptr<Guarded>>& all, std::uint32_t index, std::uint64_t bytes,
               std::vector<bool>& fresh);

  std::uint32_t seed_;
  std::mt19937 random_;
  std::vector<Thread> threads_;
  std::vector<Simdgroup> simdgroups_;
  std::vector<std::unique_ptr<Stack>> stacks_;
  std::vector<Stack*> free_;
  std::vector<std::uint32_t> order_, lanes_;
  std::uint32_t count_ = 0, running_ = 0, lane_at_ = 0;
  const char* kernel_ = nullptr;
  Entry entry_ = nullptr;
  const std::uint64_t* arguments_ = nullptr;
  const Positions* place_ = nullptr;
  Extent extent_{};
  std::vector<std::unique_ptr<Guarded>> variables_, group_arguments_;
  std::vector<bool> fresh_variables_, fresh_arguments_;
};

}  // namespace softmetal
