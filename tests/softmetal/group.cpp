#include "group.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "fault.hpp"

namespace softmetal {

namespace {

thread_local GroupRunner* current_runner = nullptr;

std::uint32_t seed_of_environment() {
  const char* text = std::getenv("SOFTMETAL_SEED");
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

GroupRunner::GroupRunner() : seed_(seed_of_environment()), random_(seed_) {}

GroupRunner& GroupRunner::current() {
  return *current_runner;
}

void GroupRunner::run(const char* kernel, Entry entry, const std::uint64_t* arguments,
                      const Positions& place, const Extent& threads) {
  kernel_ = kernel;
  entry_ = entry;
  arguments_ = arguments;
  place_ = &place;
  extent_ = threads;
  count_ = threads[0] * threads[1] * threads[2];
  threads_.assign(count_, Thread{});
  const std::uint32_t simdgroups = (count_ + kSimdWidth - 1) / kSimdWidth;
  if (simdgroups_.size() < simdgroups) simdgroups_.resize(simdgroups);
  order_.resize(simdgroups);
  std::iota(order_.begin(), order_.end(), 0u);
  lanes_.resize(kSimdWidth);
  std::iota(lanes_.begin(), lanes_.end(), 0u);
  fresh_variables_.assign(variables_.size(), true);
  fresh_arguments_.assign(group_arguments_.size(), true);
  current_runner = this;
  do {
    order(order_);
    for (const std::uint32_t s : order_) {
      while (drive_simdgroup(s)) {
      }
    }
  } while (release_barrier());
  current_runner = nullptr;
}

void GroupRunner::order(std::vector<std::uint32_t>& items) {
  if (seed_ != 0) std::shuffle(items.begin(), items.end(), random_);
}

// Runs each lane that can run until it waits; true when all then were waiting for each other and
// can run on.
bool GroupRunner::drive_simdgroup(std::uint32_t simdgroup) {
  order(lanes_);
  for (lane_at_ = 0; lane_at_ < kSimdWidth; ++lane_at_) {
    const std::uint32_t t = simdgroup * kSimdWidth + lanes_[lane_at_];
    if (t < count_ && threads_[t].state <= State::Ready) resume(t);
  }
  return release_simdgroup(simdgroup);
}

void GroupRunner::resume(std::uint32_t thread) {
  Thread& t = threads_[thread];
  if (t.state == State::New) {
    if (free_.empty()) {
      stacks_.push_back(std::make_unique<Stack>());
      stacks_.back()->owner = this;
      stacks_.back()->fiber.start(&GroupRunner::run_stack, stacks_.back().get());
      free_.push_back(stacks_.back().get());
    }
    t.stack = free_.back();
    free_.pop_back();
  }
  running_ = thread;
  t.stack->fiber.resume();
}

// Runs the thread that it is resumed for, and those after it in the simdgroup as long as none
// waits.
void GroupRunner::run_stack(void* argument) {
  Stack& stack = *static_cast<Stack*>(argument);
  GroupRunner& g = *stack.owner;
  for (;;) {
    const std::uint32_t thread = g.running_;
    g.run_thread(thread);
    g.threads_[thread].state = State::Done;
    const std::uint32_t first = thread / kSimdWidth * kSimdWidth;
    std::uint32_t next = g.count_;
    while (next == g.count_ && g.lane_at_ + 1 < kSimdWidth) {
      const std::uint32_t t = first + g.lanes_[g.lane_at_ + 1];
      if (t < g.count_ && g.threads_[t].state != State::New) break;
      ++g.lane_at_;
      if (t < g.count_) next = t;
    }
    if (next < g.count_) {
      g.threads_[next].stack = &stack;
      g.running_ = next;
      continue;
    }
    g.free_.push_back(&stack);
    stack.fiber.suspend();
  }
}

void GroupRunner::run_thread(std::uint32_t thread) {
  Positions p = *place_;
  const auto at = [&p](Position which) { return p.v[static_cast<std::size_t>(which)]; };
  const Extent own = {thread % extent_[0], thread / extent_[0] % extent_[1],
                      thread / (extent_[0] * extent_[1])};
  for (std::size_t d = 0; d < 3; ++d) {
    at(Position::ThreadInThreadgroup)[d] = own[d];
    at(Position::ThreadInGrid)[d] =
        at(Position::ThreadgroupInGrid)[d] * at(Position::DispatchThreadsPerThreadgroup)[d] +
        own[d];
  }
  at(Position::ThreadIndexInThreadgroup)[0] = thread;
  at(Position::ThreadIndexInSimdgroup)[0] = thread % kSimdWidth;
  at(Position::SimdgroupIndexInThreadgroup)[0] = thread / kSimdWidth;
  entry_(arguments_, &p);
}

bool GroupRunner::release_simdgroup(std::uint32_t simdgroup) {
  const std::uint32_t first = simdgroup * kSimdWidth;
  const std::uint32_t end = std::min<std::uint32_t>(first + kSimdWidth, count_);
  std::uint32_t active = 0, line = 0;
  for (std::uint32_t t = first; t < end; ++t) {
    if (threads_[t].state == State::Done) continue;
    if (threads_[t].state != State::Simdgroup) return false;
    if (active != 0 && threads_[t].line != line) return false;
    line = threads_[t].line;
    active |= 1u << (t - first);
  }
  if (active == 0) return false;
  for (std::uint32_t t = first; t < end; ++t) {
    if (threads_[t].state == State::Simdgroup) threads_[t].state = State::Ready;
  }
  simdgroups_[simdgroup].active = active;
  ++simdgroups_[simdgroup].round;
  return true;
}

// False when all threads have ended.
bool GroupRunner::release_barrier() {
  const Thread& first = threads_.front();
  for (const Thread& t : threads_) {
    if (t.state != first.state || t.state == State::Simdgroup ||
        (t.state == State::Barrier && t.line != first.line)) {
      fault_parted();
    }
  }
  if (first.state == State::Done) return false;
  for (Thread& t : threads_) t.state = State::Ready;
  return true;
}

std::string GroupRunner::describe(std::uint32_t thread) const {
  const Thread& t = threads_[thread];
  const std::string who = "thread " + std::to_string(thread);
  if (t.state == State::Done) return who + " has ended";
  return who + " waits at the " +
         (t.state == State::Barrier ? "threadgroup barrier" : "simdgroup operation") +
         " in program_source:" + std::to_string(t.line);
}

void GroupRunner::fault_parted() const {
  for (std::uint32_t t = 0; t < count_; ++t) {
    const bool simdgroup = threads_[t].state == State::Simdgroup;
    const std::uint32_t other = simdgroup ? t / kSimdWidth * kSimdWidth : 0;
    if (threads_[t].state != threads_[other].state || threads_[t].line != threads_[other].line) {
      fault(std::string(kernel_) + ": threads of a group part: " + describe(other) + ", " +
            describe(t));
    }
  }
  fault(std::string(kernel_) + ": threads of a group wait for each other for ever");
}

void GroupRunner::suspend(State state, std::uint32_t line) {
  Thread& t = threads_[running_];
  t.state = state;
  t.line = line;
  t.stack->fiber.suspend();
}

void GroupRunner::barrier(std::uint32_t line) {
  suspend(State::Barrier, line);
}

// Two slots in turn: a lane comes to the next but one exchange only after all have left this one.
const void* GroupRunner::exchange(const void* value, std::uint32_t bytes, std::uint32_t* active,
                                  std::uint32_t line) {
  Simdgroup& s = simdgroups_[running_ / kSimdWidth];
  auto& slots = s.slots[s.round & 1u];
  std::memcpy(slots[running_ % kSimdWidth], value, bytes);
  suspend(State::Simdgroup, line);
  *active = s.active;
  return slots;
}

std::uint32_t GroupRunner::lane() const {
  return running_ % kSimdWidth;
}

// NaNs when a group first asks for it.
char* GroupRunner::memory(std::vector<std::unique_ptr<Guarded>>& all, std::uint32_t index,
                          std::uint64_t bytes, std::vector<bool>& fresh) {
  if (all.size() <= index) {
    all.resize(index + 1);
    fresh.resize(index + 1, true);
  }
  if (all[index] == nullptr || all[index]->size() < bytes) {
    all[index] = std::make_unique<Guarded>(bytes);
    fresh[index] = true;
  }
  char* place = all[index]->place(bytes);
  if (fresh[index]) std::memset(place, 0xff, bytes);
  fresh[index] = false;
  return place;
}

char* GroupRunner::threadgroup_variable(std::uint32_t index, std::uint64_t bytes) {
  return memory(variables_, index, bytes, fresh_variables_);
}

char* GroupRunner::threadgroup_argument(std::uint32_t index, std::uint64_t bytes) {
  return memory(group_arguments_, index, bytes, fresh_arguments_);
}

}  // namespace softmetal

// What compiled kernels call; see msl/language.h.
extern "C" {
[[gnu::visibility("default")]] void softmetal_barrier(std::uint32_t line) {
  softmetal::GroupRunner::current().barrier(line);
}
[[gnu::visibility("default")]] const void* softmetal_exchange(const void* value,
                                                              std::uint32_t bytes,
                                                              std::uint32_t* active,
                                                              std::uint32_t line) {
  return softmetal::GroupRunner::current().exchange(value, bytes, active, line);
}
[[gnu::visibility("default")]] std::uint32_t softmetal_lane() {
  return softmetal::GroupRunner::current().lane();
}
[[gnu::visibility("default")]] char* softmetal_threadgroup(std::uint32_t index,
                                                           std::uint64_t bytes) {
  return softmetal::GroupRunner::current().threadgroup_variable(index, bytes);
}
}
