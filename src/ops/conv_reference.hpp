// The plain loops that Conv and ConvTranspose share.
#pragma once

#include <string_view>

#include "ops/spatial.hpp"

namespace treadle::ops {

// Throws Shape or Type error unless there are x, w and an optional bias of one dtype, float or i32,
// and x and w have the same rank of at least 3. `op` names the operator.
void check_conv_inputs(InputFacts in, std::string_view op);

// A convolution, or a transposed one: the same sums, in which a tap reads the input that reaches
// the output from there.
struct ConvReference {
  bool transposed = false;
  Layout layout = Layout::ChannelsFirst;
  WeightLayout weight_layout = WeightLayout::OIHW;
  std::int64_t group = 1;
  // One entry a spatial axis; `before` is the padding in use.
  std::vector<std::int64_t> strides, dilations, before;
};

// Writes output 0 from inputs x, w and an optional bias, whose facts infer accepted.
void eval_conv(const ConvReference& conv, EvalContext& ctx);

}  // namespace treadle::ops
