#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// The upper (lower) triangle of the matrices in the last two axes, zero elsewhere: keeps column −
// row >= k (<= k). An optional input 1 (one i64) gives k instead of the parameter. Any dtype.
class Trilu final : public Operator {
 public:
  Trilu(bool keep_upper, std::int64_t diagonal) : upper(keep_upper), k(diagonal) {}
  bool upper;
  std::int64_t k;
  TREADLE_OPERATOR(Trilu);
};

}  // namespace treadle::ops
