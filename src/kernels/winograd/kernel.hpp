// The transforms of Winograd convolution F(4x4, 3x3) with the points 0, 1, -1, 1/2, -2, infinity.
// With the matrices B, G, A of those points: y = A^T [(G g G^T) * (B^T d B)] A.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_features.hpp"
#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

inline constexpr int kWinogradOut = 4;  // outputs of a tile, each way
inline constexpr int kWinogradIn = 6;   // inputs of a tile, each way
inline constexpr int kWinogradPlanes = kWinogradIn * kWinogradIn;

// out[p * plane_stride + c] = (B^T d B)[p] where d[y][x] = pixels[6 y + x][c], for c < channels.
using WinogradInputFn = void (*)(const float* const* pixels, std::int64_t channels, float* out,
                                 std::ptrdiff_t plane_stride);

// Pixel 4 y + x of the tile gets epilogue((A^T m A)[y][x]) where m[p] = in[p * plane_stride + c].
// The epilogue is that of `tile`: c and residual by pixel, bias and slope of channel 0; its column
// and n are the kernel's to set.
using WinogradOutputFn = void (*)(const float* in, std::ptrdiff_t plane_stride,
                                  std::int64_t channels, const DotTile& tile);

// out[p * plane_stride + j] = (G g G^T)[p] where g[y][x] = in[(3 y + x) * tap_stride + j], for
// j < count, a multiple of the kernel's lanes.
using WinogradWeightsFn = void (*)(const float* in, std::ptrdiff_t tap_stride, std::int64_t count,
                                   float* out, std::ptrdiff_t plane_stride);

struct WinogradKernels {
  WinogradWeightsFn weights = nullptr;
  WinogradInputFn input = nullptr;
  WinogradOutputFn output = nullptr;
};

WinogradKernels winograd_kernels_for(Isa isa);

}  // namespace treadle::kernels
