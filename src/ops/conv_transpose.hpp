#pragma once

#include "ops/spatial.hpp"

namespace treadle::ops {

// The gradient of Conv with respect to its input (ONNX ConvTranspose, TensorFlow
// Conv2DBackpropInput). Inputs: x, w (IOHW, or HWIO read as [k…, Cout, Cin]: TensorFlow's order),
// optional bias. Out size: stride·(in−1) + output_padding + (k−1)·dilation + 1 − before − after, or
// output_shape (spatial sizes) when given, which then decides the padding; Same modes give in·stride.
class ConvTranspose final : public Operator {
 public:
  Layout layout = Layout::ChannelsFirst;
  WeightLayout weight_layout = WeightLayout::IOHW;
  std::vector<std::int64_t> strides, dilations;
  Padding padding;
  std::vector<std::int64_t> output_padding;  // one a spatial axis, zeros by default
  SymShape output_spatial;                   // empty: computed
  std::int64_t group = 1;

  TREADLE_OPERATOR(ConvTranspose);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
  // Output size and padding in use of one spatial axis.
  Window axis_window(int axis, const Dim& in, std::int64_t kernel) const;
};

}  // namespace treadle::ops
