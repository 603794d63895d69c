#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Index vectors of the non-zero (true, non-empty) elements in row-major order: i64 [rank, count].
// `count` is a symbol that this operator introduces. NaN is non-zero.
class NonZero final : public Operator {
 public:
  explicit NonZero(Dim n) : count(std::move(n)) {}
  Dim count;
  TREADLE_OPERATOR(NonZero);
};

}  // namespace treadle::ops
