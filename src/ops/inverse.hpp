#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inverses of the matrices in the last two axes: [..., n, n] → [..., n, n]. Float dtypes, computed
// in f64 by Gauss-Jordan elimination with partial pivoting. Throws Shape error for a matrix in
// which a pivot is 0: it has no inverse.
class Inverse final : public Operator {
 public:
  TREADLE_OPERATOR(Inverse);
};

}  // namespace treadle::ops
