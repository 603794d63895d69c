// Squeeze and Unsqueeze whose axes are elements of a tensor that is known only at run time.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x and axes (integer, rank 1; counted from the end when negative): x without these axes,
// each of size 1. `sizes` holds fresh symbols, as many as axes stay.
class DynamicSqueeze final : public Operator {
 public:
  explicit DynamicSqueeze(SymShape out) : sizes(std::move(out)) {}
  SymShape sizes;
  TREADLE_OPERATOR(DynamicSqueeze);
};

// Inputs x and axes (integer, rank 1; places in the output, from the end when negative): x with
// axes of size 1 there. `sizes` holds fresh symbols, one an axis of the output.
class DynamicUnsqueeze final : public Operator {
 public:
  explicit DynamicUnsqueeze(SymShape out) : sizes(std::move(out)) {}
  SymShape sizes;
  TREADLE_OPERATOR(DynamicUnsqueeze);
};

}  // namespace treadle::ops
