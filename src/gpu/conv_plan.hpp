// Convolutions on a device: which kernel, with which tiles, over weights packed for it.
//
// Which kernel, first that fits:
//   depthwise  one input channel a group
//   gemm       groups of 8 output channels and more, one or two dimensions (or a 1x1x1 kernel),
//              images below 2^31 elements; reads fours where the channels of a group and of x are
//              multiples of four and the kernel at most 24 x 32 ("gemm_"), else single elements
//              ("gemm_any_")
//   direct     everything else
// Tiles and the split of K: those whose estimated time is least (gpu/tiles.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "gpu/epilogue.hpp"
#include "gpu/prepared.hpp"
#include "gpu/tiles.hpp"
#include "kernels/conv/conv.hpp"
#include "tensor/tensor.hpp"

namespace treadle::gpu {

// How packed weights lie on the device, in the dtype of the plan.
enum class WeightLayout : std::uint8_t {
  Taps,   // [kD, kH, kW, Cin/group, Cout]
  Tiles,  // [group, kH kW Cin/group to a multiple of 32, Cout/group to a multiple of 4], padded by
          // 0
};

// The groups of depthwise_ring: each takes a tile of the columns of a slab of channels, of as many
// images at a time as it has warps.
struct RingShape {
  std::int64_t slabs, tiles;
  std::int64_t warps, images;  // of a group; of a warp
  std::int64_t period, rows;   // see tk::DepthwiseRingParams; rows: of the result of a warp
};
RingShape ring_shape(const kernels::ConvDesc& desc, DType type);

class ConvPlan {
 public:
  // For f32, f16 and bf16 tensors. `variant`, one of conv_variants() or with "/n" for n splits of
  // K, overrides the choice. Throws Shape error for sizes that do not fit, Unsupported for dtypes
  // and variants that this convolution does not have.
  ConvPlan(const kernels::ConvDesc& desc, DType type, const EpilogueDesc& epilogue = {},
           std::string_view variant = {});
  // Such as "depthwise_3x3s1_v4o2", "gemm_64x64/4" (four splits of K), "gemm_any_128x64", "direct".
  const std::string& name() const { return name_; }
  WeightLayout weight_layout() const {
    return method_.form <= Form::Depthwise ? WeightLayout::Taps : WeightLayout::Tiles;
  }
  std::size_t weight_bytes() const;
  // weight_bytes() bytes. Throws Shape error when the packed weights do not fit in memory.
  Tensor pack(const float* weights, const kernels::WeightStrides& strides) const;
  std::size_t workspace_bytes() const;

  // x and y channels-last. `workspace` holds workspace_bytes(); its contents are of no use after.
  PreparedLaunches prepare(const ProductAddresses& at, DeviceAddress workspace,
                           const char* label) const;
  void run(Queue& queue, const ProductAddresses& at, DeviceAddress workspace,
           const char* label) const;

  // What the choice comes to.
  enum class Form : std::uint8_t { Direct, Ring, Depthwise, Fours, Any };
  struct Method {
    Form form = Form::Direct;
    KernelId kernel = KernelId::kCount;
    int vector = 1, pixels = 1, rows = 1;  // a thread, Depthwise and Ring
    TileChoice tile;                       // Fours, Any
  };

 private:
  PreparedLaunch direct(const ProductAddresses& at, const char* label) const;
  tk::DepthwiseParams depthwise_params(const ProductAddresses& at, std::int64_t channels,
                                       std::int64_t columns) const;
  PreparedLaunch depthwise(const ProductAddresses& at, const char* label) const;
  PreparedLaunch ring(const ProductAddresses& at, const char* label) const;
  PreparedLaunch tiled(const ProductAddresses& at, DeviceAddress workspace,
                       const char* label) const;

  kernels::ConvDesc desc_;  // with axes merged where the kernel has no extent along them
  DType type_;
  EpilogueDesc epilogue_;
  std::string name_;
  Method method_;
};

// The variants that the convolution has, without splits.
std::vector<std::string> conv_variants(const kernels::ConvDesc& desc, DType type);
// Whether the name of a variant of some convolution begins so.
bool begins_conv_variant(std::string_view name);

}  // namespace treadle::gpu
