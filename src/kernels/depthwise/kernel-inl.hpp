// Depthwise kernels over a vector type V (see simd/). Included by the per-instruction-set files
// only.
#pragma once

#include "kernels/depthwise/kernel.hpp"
#include "kernels/gemm/dot_tile-inl.hpp"

namespace treadle::kernels {

// kPart: the last channels, fewer than a register.
template <typename V, int kWidth, int kStep, int kPixels, bool kPart>
inline __attribute__((always_inline)) void depthwise_register(const DepthwiseGroup& g,
                                                              DotTile& tile, std::int64_t channel) {
  using Reg = typename V::Reg;
  constexpr int kColumns = (kPixels - 1) * kStep + kWidth;
  Reg acc[kPixels][1];
  each_register<V, kPixels, 1>([&](int r, int j) { acc[r][j] = V::zero(); });
  const float* weights = g.weights + channel;
  const float* const* columns = g.columns;
  for (std::int64_t row = 0; row < g.kernel_rows; ++row, columns += kColumns) {
    Reg w[kWidth];
#pragma GCC unroll 8
    for (int i = 0; i < kWidth; ++i, weights += g.weight_stride) w[i] = V::load(weights);
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c) {
      const float* p = columns[c] + channel;
      const Reg x = kPart ? V::load_n(p, tile.n) : V::load(p);
#pragma GCC unroll 8
      for (int i = 0; i < kWidth; ++i) {
        const int pixel = (c - i) / kStep;
        if (c >= i && (c - i) % kStep == 0 && pixel < kPixels) {
          acc[pixel][0] = V::fma(x, w[i], acc[pixel][0]);
        }
      }
    }
  }
  finish_registers_part<V, kPixels, 1, kPart>(tile, acc);
}

template <typename V, int kWidth, int kStep, int kPixels>
void depthwise_group(const DepthwiseGroup& g) {
  DotTile tile = g.tile;
  const auto at = [&](std::int64_t channel) {
    tile.column = channel;
    tile.bias = g.tile.bias ? g.tile.bias + channel : nullptr;
    tile.slope = g.tile.slope ? g.tile.slope + channel : nullptr;
  };
  tile.n = V::kLanes;
  std::int64_t c = 0;
  for (; c + V::kLanes <= g.channels; c += V::kLanes) {
    at(c);
    depthwise_register<V, kWidth, kStep, kPixels, false>(g, tile, c);
  }
  if (c == g.channels) return;
  at(c);
  tile.n = g.channels - c;
  depthwise_register<V, kWidth, kStep, kPixels, true>(g, tile, c);
}

template <typename V, int kPixels>
void add_depthwise(DepthwiseKernels& out) {
  if constexpr (kPixels > 0) {
    out.width3[1][kPixels] = depthwise_group<V, 3, 1, kPixels>;
    out.width3[2][kPixels] = depthwise_group<V, 3, 2, kPixels>;
    out.width5[1][kPixels] = depthwise_group<V, 5, 1, kPixels>;
    out.width5[2][kPixels] = depthwise_group<V, 5, 2, kPixels>;
    add_depthwise<V, kPixels - 1>(out);
  }
}

template <typename V, int kPixels = kMaxPixels>
DepthwiseKernels make_depthwise_kernels(Isa isa) {
  DepthwiseKernels k;
  k.isa = isa;
  k.lanes = V::kLanes;
  k.pixels = kPixels;
  add_depthwise<V, kPixels>(k);
  k.any = depthwise_group<V, 1, 1, 1>;
  return k;
}

}  // namespace treadle::kernels
