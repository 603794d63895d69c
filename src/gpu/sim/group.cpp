#include "gpu/sim/group.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>

#include "base/error.hpp"

// This file is compiled without ThreadSanitizer also where the rest is under it, so that only what
// kernels do is watched.
#if defined(TREADLE_TSAN_FIBERS)
extern "C" {
void __tsan_acquire(void*);
void __tsan_release(void*);
void __tsan_read16(void*);
void __tsan_write16(void*);
}
#else
namespace {
void __tsan_acquire(void*) {}
void __tsan_release(void*) {}
void __tsan_read16(void*) {}
void __tsan_write16(void*) {}
}  // namespace
#endif

namespace treadle::gpu::sim {

namespace {

thread_local GroupRunner* current_runner = nullptr;

bool same(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column();
}

std::string text(const std::source_location& at) {
  const std::string_view file = at.file_name();
  const std::size_t slash = file.rfind('/');
  return fmt::format("{}:{}", slash == std::string_view::npos ? file : file.substr(slash + 1),
                     at.line());
}

GroupRunner& runner() {
  check(current_runner != nullptr, ErrorKind::Internal,
        "sim: a kernel that is listed as nosync has a barrier, a warp operation or an asynchronous "
        "copy");
  return *current_runner;
}

}  // namespace

void barrier(const std::source_location& at) {
  runner().barrier(at);
}
std::array<std::uint32_t, 32> exchange(std::uint32_t value, const std::source_location& at) {
  return runner().exchange(value, at);
}
void async_copy16(void* to, const void* from, bool take) {
  runner().async_copy16(to, from, take);
}
void async_commit() {
  runner().async_commit();
}
void async_wait(int unfinished) {
  runner().async_wait(unfinished);
}

void check_aligned(const void* pointer, std::size_t bytes) {
  check(reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0, ErrorKind::Internal,
        "sim: an access of {} bytes at an address that is no multiple of it", bytes);
}

void GroupRunner::run(const SimKernel& kernel, bool barriers, const KernelArguments& arguments,
                      const tk::tk_ctx& context) {
  if (!barriers) {
    kernel.group(context, arguments);
    return;
  }
  kernel_ = &kernel;
  arguments_ = &arguments;
  error_ = nullptr;
  prepare(std::size_t{context.bdim.x} * context.bdim.y * context.bdim.z, context);
  __tsan_release(&started_);
  current_runner = this;
  try {
    drive_all();
  } catch (...) {
    current_runner = nullptr;
    __tsan_acquire(&ended_);
    throw;
  }
  current_runner = nullptr;
  __tsan_acquire(&ended_);
}

void GroupRunner::prepare(std::size_t count, const tk::tk_ctx& context) {
  check(count > 0 && count % 32 == 0, ErrorKind::Internal,
        "sim: a group of {} threads of a kernel with barriers, expected a multiple of 32", count);
  while (threads_.size() < count) threads_.push_back(std::make_unique<Thread>());
  count_ = count;
  for (std::size_t i = 0; i < count; ++i) {
    Thread& t = *threads_[i];
    t.owner = this;
    t.wait = Wait::None;
    t.exchanges = t.barriers = 0;
    t.copies.clear();
    t.commits.clear();
    t.context = context;
    const auto flat = static_cast<std::uint32_t>(i);
    t.context.tid = {flat % context.bdim.x, flat / context.bdim.x % context.bdim.y,
                     flat / (context.bdim.x * context.bdim.y)};
    t.context.lane = flat & 31u;
    t.context.warp = flat >> 5;
    t.fiber.start(&GroupRunner::run_thread, &t);
  }
  warps_.resize(count / 32);
  lanes_.resize(32);
  std::iota(warps_.begin(), warps_.end(), 0u);
  std::iota(lanes_.begin(), lanes_.end(), 0u);
}

void GroupRunner::run_thread(void* thread) {
  Thread& t = *static_cast<Thread*>(thread);
  GroupRunner& owner = *t.owner;
  __tsan_acquire(&owner.started_);
  try {
    owner.kernel_->thread(t.context, *owner.arguments_);
    if (!t.copies.empty()) {
      fail(ErrorKind::Internal, "sim: a thread ended with asynchronous copies not waited for");
    }
  } catch (...) {
    if (owner.error_ == nullptr) owner.error_ = std::current_exception();
  }
  __tsan_release(&owner.ended_);
  t.wait = Wait::Done;
}

void GroupRunner::order(std::vector<std::uint32_t>& items) {
  if (seed_ != 0) std::shuffle(items.begin(), items.end(), random_);
}

void GroupRunner::drive_all() {
  for (;;) {
    order(warps_);
    for (const std::uint32_t warp : warps_) {
      while (drive_warp(warp)) {
      }
      if (error_ != nullptr) std::rethrow_exception(error_);
    }
    if (!release_barrier()) return;
  }
}

// Runs each lane that can run until it waits; true when all then were waiting for each other, and
// can run on.
bool GroupRunner::drive_warp(std::size_t warp) {
  order(lanes_);
  for (const std::uint32_t lane : lanes_) {
    Thread& t = *threads_[warp * 32 + lane];
    if (t.wait != Wait::None) continue;
    running_ = &t;
    t.fiber.resume();
    if (error_ != nullptr) return false;
  }
  return release_warp(warp);
}

bool GroupRunner::release_warp(std::size_t warp) {
  const auto first = threads_.begin() + static_cast<std::ptrdiff_t>(warp * 32);
  for (auto t = first; t != first + 32; ++t) {
    if ((*t)->wait != Wait::Warp || !same((*t)->at, (*first)->at)) return false;
  }
  for (auto t = first; t != first + 32; ++t) (*t)->wait = Wait::None;
  return true;
}

// False when all threads have ended; throws when some never will.
bool GroupRunner::release_barrier() {
  const Thread& first = *threads_.front();
  for (std::size_t i = 0; i < count_; ++i) {
    const Thread& t = *threads_[i];
    if (t.wait != first.wait || t.wait == Wait::Warp) fail_stuck();
    if (t.wait == Wait::Barrier && !same(t.at, first.at)) fail_stuck();
  }
  if (first.wait == Wait::Done) return false;
  for (std::size_t i = 0; i < count_; ++i) threads_[i]->wait = Wait::None;
  return true;
}

void GroupRunner::fail_stuck() const {
  const auto describe = [](const Thread& t) {
    switch (t.wait) {
      case Wait::Barrier:
        return fmt::format("thread {} waits at the barrier {}",
                           t.context.warp * 32 + t.context.lane, text(t.at));
      case Wait::Warp:
        return fmt::format("thread {} waits at the warp operation {}",
                           t.context.warp * 32 + t.context.lane, text(t.at));
      default:
        return fmt::format("thread {} has ended", t.context.warp * 32 + t.context.lane);
    }
  };
  // Against the first thread of the group, or of the warp for a warp operation.
  for (std::size_t i = 0; i < count_; ++i) {
    const Thread& t = *threads_[i];
    const Thread& other = *threads_[t.wait == Wait::Warp ? i & ~std::size_t{31} : 0];
    const bool waits = t.wait == Wait::Barrier || t.wait == Wait::Warp;
    if (t.wait != other.wait || (waits && !same(t.at, other.at))) {
      fail(ErrorKind::Internal, "sim: threads of a group part: {}, {}", describe(other),
           describe(t));
    }
  }
  fail(ErrorKind::Internal, "sim: threads of a group wait for each other for ever");
}

void GroupRunner::suspend(Wait wait, const std::source_location& at) {
  Thread* t = running_;
  t->wait = wait;
  t->at = at;
  __tsan_release(&ended_);  // it may be for ever
  t->fiber.suspend();
}

void GroupRunner::barrier(const std::source_location& at) {
  char* token = &met_[running_->barriers++ & 1u];
  __tsan_release(token);
  suspend(Wait::Barrier, at);
  __tsan_acquire(token);
}

// Two slots in turn: a thread reaches the next exchange but one only after all have left this one.
std::array<std::uint32_t, 32> GroupRunner::exchange(std::uint32_t value,
                                                    const std::source_location& at) {
  Thread* t = running_;
  const std::uint32_t slot = t->exchanges++ & 1u;
  t->slots[slot] = value;
  suspend(Wait::Warp, at);
  std::array<std::uint32_t, 32> all;
  const std::size_t first = std::size_t{t->context.warp} * 32;
  for (std::size_t i = 0; i < 32; ++i) all[i] = threads_[first + i]->slots[slot];
  return all;
}

void GroupRunner::async_copy16(void* to, const void* from, bool take) {
  check_aligned(to, 16);
  check_aligned(from, take ? 16 : 1);
  running_->copies.push_back({to, from, take});
}

void GroupRunner::async_commit() {
  Thread& t = *running_;
  std::size_t covered = 0;
  for (const std::size_t n : t.commits) covered += n;
  t.commits.push_back(t.copies.size() - covered);
}

void GroupRunner::async_wait(int unfinished) {
  Thread& t = *running_;
  std::size_t count = 0;
  while (t.commits.size() > static_cast<std::size_t>(unfinished)) {
    count += t.commits.front();
    t.commits.erase(t.commits.begin());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Copy& copy = t.copies[i];
    if (copy.take) {
      __tsan_read16(const_cast<void*>(copy.from));
      std::memcpy(copy.to, copy.from, 16);
    } else {
      std::memset(copy.to, 0, 16);
    }
    __tsan_write16(copy.to);
  }
  t.copies.erase(t.copies.begin(), t.copies.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace treadle::gpu::sim
