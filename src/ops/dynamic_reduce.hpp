#pragma once

#include "ops/reduce.hpp"

namespace treadle::ops {

// Reduce over axes that are known only at run time. Inputs x, axes (integers, 1-D; none means all
// axes, or none with `noop_with_empty_axes`). `sizes` is the output's shape: fresh symbols where it
// depends on the axes.
class DynamicReduce final : public Operator {
 public:
  ReduceFn fn = ReduceFn::Sum;
  bool keep_dims = true;
  bool noop_with_empty_axes = false;
  SymShape sizes;

  TREADLE_OPERATOR(DynamicReduce);
};

}  // namespace treadle::ops
