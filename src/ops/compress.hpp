#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x and condition (Bool, rank 1, at most as long as the axis): the slices along `axis` where
// condition is true; without an axis, elements of the flattened x. `count`, the size of that axis,
// is a symbol that this operator introduces.
class Compress final : public Operator {
 public:
  Compress(std::optional<std::int64_t> along, Dim n) : axis(along), count(std::move(n)) {}
  std::optional<std::int64_t> axis;
  Dim count;
  TREADLE_OPERATOR(Compress);
};

}  // namespace treadle::ops
