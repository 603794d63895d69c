// Bounds what tensors may take while untrusted sizes are at work.
#pragma once

#include <cstdint>

namespace treadle {

// As long as it lives, this thread's tensors may have at most `bytes` bytes each, or what an
// enclosing TensorLimit allows when that is less; larger ones throw Memory error.
class TensorLimit {
 public:
  explicit TensorLimit(std::int64_t bytes);
  ~TensorLimit();
  TensorLimit(const TensorLimit&) = delete;
  TensorLimit& operator=(const TensorLimit&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace treadle
