#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Deformable convolution (https://arxiv.org/abs/1811.11168) over any number of spatial axes. Inputs
// x [N, C, spatial], w [M, C/group, kernel], offset [N, offset_group·|kernel|·axes, out], optional
// bias [M], optional mask [N, offset_group·|kernel|, out]. Element k of the kernel reads x where it
// stands plus its offset, interpolated linearly and zero outside, times its mask.
class DeformConv final : public Operator {
 public:
  std::vector<std::int64_t> strides, dilations, before, after;  // one entry a spatial axis
  std::int64_t group = 1, offset_group = 1;
  TREADLE_OPERATOR(DeformConv);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
};

}  // namespace treadle::ops
