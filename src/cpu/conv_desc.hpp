// What the translators of Conv and ConvTranspose share.
#pragma once

#include <cstdint>
#include <span>

#include "graph/dim.hpp"
#include "graph/graph.hpp"
#include "kernels/conv/conv.hpp"
#include "ops/conv.hpp"

namespace treadle::cpu {

// The sizes of one spatial axis and its window, in the order depth, height, width.
struct AxisFields {
  std::int64_t kernels::ConvDesc::*in, kernels::ConvDesc::*kernel, kernels::ConvDesc::*stride,
      kernels::ConvDesc::*dilation, kernels::ConvDesc::*pad, kernels::ConvDesc::*out;
};
inline constexpr AxisFields kAxes[3] = {
    {&kernels::ConvDesc::D, &kernels::ConvDesc::kD, &kernels::ConvDesc::stride_d,
     &kernels::ConvDesc::dilation_d, &kernels::ConvDesc::pad_front, &kernels::ConvDesc::D_out},
    {&kernels::ConvDesc::H, &kernels::ConvDesc::kH, &kernels::ConvDesc::stride_h,
     &kernels::ConvDesc::dilation_h, &kernels::ConvDesc::pad_top, &kernels::ConvDesc::H_out},
    {&kernels::ConvDesc::W, &kernels::ConvDesc::kW, &kernels::ConvDesc::stride_w,
     &kernels::ConvDesc::dilation_w, &kernels::ConvDesc::pad_left, &kernels::ConvDesc::W_out},
};

// Whether the kernel of a Conv or ConvTranspose node takes it, its dtype being one of `dtypes`:
// channels last, one to three spatial axes, known channels, constant weights and bias. False for
// other operators.
bool has_conv_kernel(const Graph& graph, const Node& node, std::span<const DType> dtypes);

// The convolution of x by w, channels last, with the sizes of its windows.
kernels::ConvDesc conv_desc(const ops::Conv& op, const Shape& x, const Shape& w);
kernels::WeightStrides weight_strides(ops::WeightLayout layout, const kernels::ConvDesc& d);
// The input's sizes, guessed where they are not known: the kernel w fits a guess.
Shape typical_shape(const ops::Conv& op, const SymShape& shape, const Shape& w);

// A size for choosing the algorithm before it is known: every symbol stands for 320.
std::int64_t guess(const Dim& d);

}  // namespace treadle::cpu
