#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Input [N, C·Π block, L]: columns of blocks summed into images [N, C, image…]; the inverse of
// sliding a window of `block` over the padded image, L windows in row-major order.
class Col2Im final : public Operator {
 public:
  std::vector<std::int64_t> image, block, dilations, strides, before, after;
  TREADLE_OPERATOR(Col2Im);
};

// The same with image and block (integer, rank 1) as inputs 1 and 2; the parameters of `proto` but
// these hold. `sizes` is the output's shape, with fresh symbols for what the run makes known.
class DynamicCol2Im final : public Operator {
 public:
  Col2Im proto;
  SymShape sizes;
  TREADLE_OPERATOR(DynamicCol2Im);
};

}  // namespace treadle::ops
