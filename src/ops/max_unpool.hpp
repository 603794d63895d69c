#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x and indices (integer, same shape): a tensor of shape `sizes` that is zero but for
// out[flat index] = x. Flat indices count over a tensor of shape `counted`, which is at most
// `sizes` on every axis and lies at its origin. An optional input 2 (integer, one an axis) holds
// the sizes when only the run knows them; `sizes` are fresh symbols then.
class MaxUnpool final : public Operator {
 public:
  MaxUnpool(SymShape out, SymShape indexed) : sizes(std::move(out)), counted(std::move(indexed)) {}
  SymShape sizes, counted;
  TREADLE_OPERATOR(MaxUnpool);
};

}  // namespace treadle::ops
