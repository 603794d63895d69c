#include "tensor/limit.hpp"

#include "base/error.hpp"

namespace treadle {
namespace {

thread_local WorkLimit* work = nullptr;

}  // namespace

void TensorBudget::take(std::int64_t bytes) {
  const std::int64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (before <= limit_ - bytes) return;
  give(bytes);
  fail(ErrorKind::Memory,
       "a tensor of {} bytes does not fit beside {} bytes that are in use, the "
       "limit is {}",
       bytes, before, limit_);
}

WorkLimit::WorkLimit(std::int64_t iterations, double seconds)
    : before_(work), allowed_(iterations), left_(iterations), seconds_(seconds) {
  if (before_ != nullptr) return;
  // Beyond a year there is no need of a clock, nor could it count that far.
  if (seconds > 0 && seconds < 3e7) {
    end_ = std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(seconds));
  }
  work = this;
}

WorkLimit::~WorkLimit() {
  if (before_ == nullptr) work = nullptr;
}

void WorkLimit::count_iteration() {
  if (work == nullptr) return;
  check(work->left_ > 0, ErrorKind::Memory,
        "the loops of this run went on for more than {} iterations, the limit (max_iterations)",
        work->allowed_);
  --work->left_;
  check_time();
}

void WorkLimit::check_time() {
  if (work == nullptr || !work->end_) return;
  check(std::chrono::steady_clock::now() < *work->end_, ErrorKind::Memory,
        "the run took more than {} s, the limit (max_seconds)", work->seconds_);
}

}  // namespace treadle
