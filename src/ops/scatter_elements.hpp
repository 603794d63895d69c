#pragma once

#include "ops/scatter.hpp"

namespace treadle::ops {

// Inputs x, indices (integer, same rank), updates (shape of indices): a copy of x in which element
// [i with i[axis] replaced by indices[i]] meets updates[i], in row-major order of i.
class ScatterElements final : public Operator {
 public:
  explicit ScatterElements(std::int64_t along, ScatterReduce r = ScatterReduce::None)
      : axis(along), reduce(r) {}
  std::int64_t axis;
  ScatterReduce reduce;
  TREADLE_OPERATOR(ScatterElements);
};

}  // namespace treadle::ops
