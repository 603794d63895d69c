#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs cache, update (sizes of cache but for `axis`, where it is at most as long), optional
// positions (integer, one a batch = axis 0; default 0): a copy of cache with
// update[…, i, …] at position[batch] + i of the axis, taken modulo its size with `circular`.
class TensorScatter final : public Operator {
 public:
  TensorScatter(std::int64_t along, bool wrap) : axis(along), circular(wrap) {}
  std::int64_t axis;
  bool circular;
  TREADLE_OPERATOR(TensorScatter);
};

}  // namespace treadle::ops
