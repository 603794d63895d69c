#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// The sizes of the input, i64 [rank]. Any dtype; reads no element.
class ShapeOf final : public Operator {
 public:
  TREADLE_OPERATOR(ShapeOf);
};

// The number of elements of the input, an i64 scalar. Any dtype; reads no element.
class SizeOf final : public Operator {
 public:
  TREADLE_OPERATOR(SizeOf);
};

}  // namespace treadle::ops
