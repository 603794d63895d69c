// Bounds what a run may take while untrusted sizes and loops are at work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace treadle {

// Counts the bytes of tensors that are alive.
class TensorBudget {
 public:
  explicit TensorBudget(std::int64_t limit) : limit_(limit) {}
  // Throws Memory error, and counts nothing, when more than the limit would be alive.
  void take(std::int64_t bytes);
  void give(std::int64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::int64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  std::int64_t limit_;
  std::atomic<std::int64_t> used_ = 0;
};

// As long as it lives, this thread's tensors may have at most `bytes` bytes each, or what an
// enclosing TensorLimit allows when that is less; larger ones throw Memory error. The outermost one
// counts all tensors made meanwhile against `budget` (its own, of `bytes`, when null).
class TensorLimit {
 public:
  explicit TensorLimit(std::int64_t bytes, std::shared_ptr<TensorBudget> budget = nullptr);
  ~TensorLimit();
  TensorLimit(const TensorLimit&) = delete;
  TensorLimit& operator=(const TensorLimit&) = delete;

  // Bytes of the tensors alive that were made under the outermost limit's budget.
  std::int64_t used() const;
  // What holds on this thread now.
  static std::int64_t current();

 private:
  std::int64_t before_;
  bool outermost_;
};

// As long as it lives, bytes that are held beside tensors (by a library, say) count as a tensor's
// would. Throws Memory error where such a tensor would not be allowed.
class TensorReservation {
 public:
  explicit TensorReservation(std::int64_t bytes);
  ~TensorReservation();
  TensorReservation(const TensorReservation&) = delete;
  TensorReservation& operator=(const TensorReservation&) = delete;

 private:
  std::int64_t bytes_;
  std::shared_ptr<TensorBudget> budget_;
};

// As long as it lives, bounds the work of this thread's run; inside another one it does nothing.
class WorkLimit {
 public:
  // Iterations of loops, of all together; seconds from now (0: no bound).
  WorkLimit(std::int64_t iterations, double seconds);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

  // To be called once an iteration of a loop. Throws Memory error that names the limit beyond it,
  // and what check_time throws.
  static void count_iteration();
  // To be called between steps. Throws Memory error when the time is over.
  static void check_time();

 private:
  WorkLimit* before_;
  std::int64_t allowed_, left_;
  double seconds_;
  std::optional<std::chrono::steady_clock::time_point> end_;
};

}  // namespace treadle
