#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x, indices (integer; its last axis, of constant size k, holds index tuples; negative ones
// count from the end): out shape = indices.shape[:-1] + x.shape[batch_dims + k:]. The first
// `batch_dims` axes of both are walked together.
class GatherNd final : public Operator {
 public:
  explicit GatherNd(std::int64_t batch = 0) : batch_dims(batch) {}
  std::int64_t batch_dims;
  TREADLE_OPERATOR(GatherNd);
  bool moves_elements() const override { return true; }
};

}  // namespace treadle::ops
