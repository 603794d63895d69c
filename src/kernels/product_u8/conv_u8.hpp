// Convolutions of 8-bit values over channels-last tensors, without an im2col tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.hpp"
#include "kernels/product_u8/product_u8.hpp"

namespace treadle::kernels {

// Whether each output channel reads one input channel: such convolutions have a kernel of their
// own.
bool is_depthwise(const ConvDesc& desc);

// Packs weights for convolutions like `desc`, whatever their N, D, H and W; see pack_u8().
SharedPackedU8 pack_conv_u8(const KernelsU8& kernels, const ConvDesc& desc,
                            const std::int32_t* weights, const WeightStrides& strides);

// Bytes that conv_u8 needs.
std::size_t conv_u8_workspace_bytes(const ConvDesc& desc);
// The variant: "depthwise", "rows" or "indirect".
const char* conv_u8_variant(const ConvDesc& desc);

struct ConvU8 {
  const std::uint8_t* x = nullptr;  // bytes of u8, or of s8 with `flip`
  std::uint8_t outside = 0;         // the byte that stands for what lies outside the input
  std::uint32_t flip = 0;           // see ProductU8
  const PackedU8* weights = nullptr;
  void* y = nullptr;
  FinishU8 finish;
  void* workspace = nullptr;
};
void conv_u8(const ConvDesc& desc, const ConvU8& args, Parallel& parallel);

}  // namespace treadle::kernels
