// What the translators of Conv and ConvTranspose share.
#pragma once

#include <cstdint>

#include "graph/dim.hpp"
#include "graph/graph.hpp"
#include "kernels/conv/conv.hpp"

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

// Whether the kernel of a Conv or ConvTranspose node takes it: f32, channels last, one to three
// spatial axes, known channels, constant weights and bias. False for other operators.
bool has_conv_kernel(const Graph& graph, const Node& node);

// A size for choosing the algorithm before it is known: every symbol stands for 320.
std::int64_t guess(const Dim& d);

}  // namespace treadle::cpu
