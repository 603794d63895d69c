// Convolution in f32 over channels-last tensors: x[N,D,H,W,Cin] with y[N,D_out,H_out,W_out,Cout].
// One- and two-dimensional convolutions leave the sizes they do not have at 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/threads.hpp"
#include "kernels/epilogue.hpp"

namespace treadle::kernels {

// y[n,z,y,x,o] = sum over d,h,w,i of x[n, z stride_d + d dilation_d - pad_front, …, i]
// w[o,i,d,h,w], where what lies outside the input counts as zero; so the padding at the far ends is
// whatever the output sizes ask for.
struct ConvDesc {
  std::int64_t N = 1, D = 1, H = 1, W = 1, Cin = 1, Cout = 1;
  std::int64_t kD = 1, kH = 1, kW = 1;
  std::int64_t stride_d = 1, stride_h = 1, stride_w = 1;
  std::int64_t dilation_d = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_front = 0, pad_top = 0, pad_left = 0;  // may be negative
  std::int64_t group = 1;
  std::int64_t D_out = 1, H_out = 1, W_out = 1;

  std::int64_t taps() const { return kD * kH * kW; }
  std::int64_t cin_per_group() const { return Cin / group; }
  std::int64_t cout_per_group() const { return Cout / group; }
};

// Strides in elements of a weight tensor with Cout x Cin/group x kD x kH x kW elements.
struct WeightStrides {
  std::ptrdiff_t o = 0, i = 0, d = 0, h = 0, w = 0;
};
WeightStrides oihw_strides(const ConvDesc& desc);  // also OIW and OIDHW
WeightStrides ohwi_strides(const ConvDesc& desc);
WeightStrides hwio_strides(const ConvDesc& desc);

struct ConvOptions {
  bool exact = false;  // no algorithm that rounds worse than the plain sum
  int threads = 1;
};

struct PackedConvWeights;  // conv/packed_weights.hpp
using SharedConvWeights = std::shared_ptr<const PackedConvWeights>;

// A convolution bound to its sizes. run() may be called by several threads at once, each with its
// own workspace, and allocates nothing.
class Conv {
 public:
  virtual ~Conv() = default;
  virtual const char* name() const = 0;
  virtual std::size_t workspace_bytes(int threads) const = 0;
  // Bytes of the packed weights, which other shapes may share.
  virtual std::size_t packed_bytes() const = 0;
  // Output pixels lie y_pixel_stride >= Cout floats apart, so that y may be a slice of the channels
  // of a wider tensor. The epilogue's rows are output pixels, its columns channels. `workspace` is
  // 64-byte aligned and holds workspace_bytes(parallel.threads()).
  virtual void run(const float* x, float* y, std::ptrdiff_t y_pixel_stride,
                   const Epilogue& epilogue, void* workspace, Parallel& parallel) const = 0;
  // What make_conv can be given to bind the same weights to other sizes of N, D, H and W.
  virtual const SharedConvWeights& weights() const = 0;
};

// Throws Shape error for sizes that are negative, do not fit each other, or overflow.
void check_conv(const ConvDesc& desc);

// Chooses the algorithm and packs the weights for it.
std::unique_ptr<Conv> make_conv(const ConvDesc& desc, const float* weights,
                                const WeightStrides& strides, const ConvOptions& options = {});
// Only packs, for the algorithm that `desc` would get.
SharedConvWeights pack_conv_weights(const ConvDesc& desc, const float* weights,
                                    const WeightStrides& strides, const ConvOptions& options = {});
// Binds weights packed before; channels, kernel and groups must be those of the packing.
std::unique_ptr<Conv> make_conv(const ConvDesc& desc, SharedConvWeights weights,
                                const ConvOptions& options = {});

// Each algorithm in the order of preference, with why it is refused; the chosen one, last in the
// list, has an empty reason.
struct ConvVerdict {
  std::string name, refused;
};
std::vector<ConvVerdict> explain_conv(const ConvDesc& desc, const ConvOptions& options = {});

}  // namespace treadle::kernels
