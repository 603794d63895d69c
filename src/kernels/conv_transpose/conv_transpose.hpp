// Transposed convolution in f32 over channels-last tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/threads.hpp"
#include "kernels/conv/packed_weights.hpp"

namespace treadle::kernels {

// y[n, z stride_d + d dilation_d - pad_front, …, o] += x[n,z,y,x,i] w[i,o,d,h,w] for every element
// whose place lies inside y. Sizes as in ConvDesc; Cin counts the input of this operator.
using ConvTransposeDesc = ConvDesc;

// Weights with Cin x Cout/group x kD x kH x kW elements in that order. WeightStrides::o is the step
// between the output channels of one group, i that between input channels over all groups.
WeightStrides iohw_strides(const ConvTransposeDesc& desc);

// Weights packed by the remainder of a tap's place modulo the strides; free of N, D, H, W and pads.
struct PackedConvTransposeWeights;
using SharedConvTransposeWeights = std::shared_ptr<const PackedConvTransposeWeights>;

SharedConvTransposeWeights pack_conv_transpose_weights(const ConvTransposeDesc& desc,
                                                       const float* weights,
                                                       const WeightStrides& strides);

// Bound to its sizes. run() is thread-safe, needs no workspace and allocates nothing.
class ConvTranspose {
 public:
  ConvTranspose(const ConvTransposeDesc& desc, SharedConvTransposeWeights weights);

  const char* name() const { return "phases"; }
  std::size_t packed_bytes() const;
  const SharedConvTransposeWeights& weights() const { return weights_; }
  // As Conv::run.
  void run(const float* x, float* y, std::ptrdiff_t y_pixel_stride, const Epilogue& epilogue,
           Parallel& parallel) const;

 private:
  // The output places of one axis that the same taps reach: first + q stride for q < count. Tap t
  // of them reads input place offsets[t] + q.
  struct Phase {
    std::int64_t residue = 0, first = 0, count = 0;
    std::vector<std::int64_t> offsets;
  };
  class Rows;

  std::vector<Phase> phases(std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                            std::int64_t pad, std::int64_t out) const;
  void run_phase(const Phase& z, const Phase& y, const Phase& x, const float* in, float* out,
                 std::ptrdiff_t y_stride, const Epilogue& epilogue, Parallel& parallel) const;

  ConvTransposeDesc desc_;
  SharedConvTransposeWeights weights_;
  std::array<std::vector<Phase>, 3> axes_;  // d, h, w
};

}  // namespace treadle::kernels
