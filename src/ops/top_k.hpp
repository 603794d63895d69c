#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// The k largest (smallest) elements along `axis`, best first, and their positions (i64). Of equals
// the one with the lower position comes first; NaN is above every number. Inputs: x, and with
// `fresh` k as an integer tensor of one element: k is then a symbol that this operator introduces.
class TopK final : public Operator {
 public:
  TopK(std::int64_t along, Dim count, bool take_largest, bool fresh_size = false)
      : axis(along), k(std::move(count)), largest(take_largest), fresh(fresh_size) {}
  std::int64_t axis;
  Dim k;
  bool largest;
  bool fresh;
  TREADLE_OPERATOR(TopK);
};

}  // namespace treadle::ops
