#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x, indices (integer, same rank, negative ones count from the end): out[i] = x[i with
// i[axis] replaced by indices[i]], of the shape of indices, which is at most that of x elsewhere.
class GatherElements final : public Operator {
 public:
  explicit GatherElements(std::int64_t along) : axis(along) {}
  std::int64_t axis;
  TREADLE_OPERATOR(GatherElements);
  bool moves_elements() const override { return true; }
};

}  // namespace treadle::ops
