#pragma once

#include "ops/scatter.hpp"

namespace treadle::ops {

// Inputs x, indices (integer; its last axis, of constant size k, holds index tuples), updates of
// shape indices.shape[:-1] + x.shape[k:]: a copy of x in which the slices at the tuples meet the
// updates, in order.
class ScatterNd final : public Operator {
 public:
  explicit ScatterNd(ScatterReduce r = ScatterReduce::None) : reduce(r) {}
  ScatterReduce reduce;
  TREADLE_OPERATOR(ScatterNd);
};

}  // namespace treadle::ops
