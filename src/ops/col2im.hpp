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

}  // namespace treadle::ops
