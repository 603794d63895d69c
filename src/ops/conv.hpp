#pragma once

#include "ops/spatial.hpp"

namespace treadle::ops {

// Inputs: x [N, C, spatial…] in `layout`; w in `weight_layout`; optional bias [Cout].
// Output [N, Cout, out spatial…] in `layout`, dtype of x. Float dtypes (f16/bf16 accumulate in f32),
// and i32 with sums modulo 2^32. Kernel sizes are constants.
class Conv final : public Operator {
 public:
  Layout layout = Layout::ChannelsFirst;
  WeightLayout weight_layout = WeightLayout::OIHW;
  std::vector<std::int64_t> strides, dilations;  // one a spatial axis
  Padding padding;
  std::int64_t group = 1;

  TREADLE_OPERATOR(Conv);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
};

}  // namespace treadle::ops
