// The inner kernels of depthwise convolution: neighbouring output pixels of one line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_features.hpp"
#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

inline constexpr int kMaxPixels = 8;

// Output pixel p, channel c: sum over r < kernel_rows, w of columns[r * stride + p * step + w][c] *
// weights[(r * width + w) * weight_stride + c], where `stride` is the number of columns that the
// kernel reads, (pixels - 1) * step + width, and then the epilogue of `tile`, whose column and n
// are the kernel's to set. Reads weights up to the next whole register.
struct DepthwiseGroup {
  const float* const* columns = nullptr;
  std::int64_t kernel_rows = 0;
  std::int64_t channels = 0;
  const float* weights = nullptr;
  std::ptrdiff_t weight_stride = 0;
  DotTile tile;  // c and residual by pixel; bias and slope of channel 0
};

using DepthwiseFn = void (*)(const DepthwiseGroup&);

struct DepthwiseKernels {
  Isa isa = Isa::Generic;
  int lanes = 0;
  int pixels = 0;                              // most pixels of a group
  DepthwiseFn width3[3][kMaxPixels + 1] = {};  // by step (1 or 2) and pixels
  DepthwiseFn width5[3][kMaxPixels + 1] = {};
  // One pixel and a kernel one tap wide: kernel_rows taps at any places.
  DepthwiseFn any = nullptr;
};

const DepthwiseKernels& depthwise_kernels_for(Isa isa);

}  // namespace treadle::kernels
