#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Determinant of the matrices in the last two axes: [..., n, n] → [...]. Float dtypes, computed in
// f64 by elimination with partial pivoting.
class Det final : public Operator {
 public:
  TREADLE_OPERATOR(Det);
};

}  // namespace treadle::ops
