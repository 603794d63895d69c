// The transforms over a vector type V (see simd/). Included by the per-instruction-set files only.
#pragma once

#include "kernels/gemm/dot_tile-inl.hpp"
#include "kernels/winograd/kernel.hpp"

namespace treadle::kernels {

// r = G g
template <typename V>
inline __attribute__((always_inline)) void winograd_weights_6(const typename V::Reg (&g)[3],
                                                              typename V::Reg (&r)[6]) {
  using Reg = typename V::Reg;
  const Reg third = V::set(1.0f / 3.0f);
  const Reg s = V::add(g[0], g[2]);
  r[0] = g[0];
  r[1] = V::mul(V::add(s, g[1]), third);
  r[2] = V::mul(V::sub(g[1], s), third);
  const Reg two = V::set(2.0f), four = V::set(4.0f);
  r[3] = V::mul(V::fma(four, g[0], V::fma(two, g[1], g[2])), V::set(-4.0f / 15.0f));
  r[4] = V::mul(V::fma(four, g[2], V::sub(g[0], V::mul(two, g[1]))), V::set(1.0f / 15.0f));
  r[5] = g[2];
}

template <typename V>
void winograd_weights(const float* in, std::ptrdiff_t tap_stride, std::int64_t count, float* out,
                      std::ptrdiff_t plane_stride) {
  using Reg = typename V::Reg;
  for (std::int64_t j = 0; j < count; j += V::kLanes) {
    float half[18 * V::kLanes];
#pragma GCC unroll 3
    for (int x = 0; x < 3; ++x) {
      Reg g[3], r[6];
#pragma GCC unroll 3
      for (int y = 0; y < 3; ++y) g[y] = V::load(in + (3 * y + x) * tap_stride + j);
      winograd_weights_6<V>(g, r);
#pragma GCC unroll 6
      for (int y = 0; y < 6; ++y) V::store(half + (3 * y + x) * V::kLanes, r[y]);
    }
    for (int y = 0; y < 6; ++y) {
      Reg g[3], r[6];
#pragma GCC unroll 3
      for (int x = 0; x < 3; ++x) g[x] = V::load(half + (3 * y + x) * V::kLanes);
      winograd_weights_6<V>(g, r);
#pragma GCC unroll 6
      for (int x = 0; x < 6; ++x) V::store(out + (6 * y + x) * plane_stride + j, r[x]);
    }
  }
}

// r = B^T d
template <typename V>
inline __attribute__((always_inline)) void winograd_input_6(const typename V::Reg (&d)[6],
                                                            typename V::Reg (&r)[6]) {
  using Reg = typename V::Reg;
  const Reg c = V::set(1.5f);
  const Reg e = V::sub(d[3], d[1]), f = V::sub(d[4], d[2]);
  const Reg s = V::fma(c, d[3], f), t = V::fma(c, d[2], e);
  r[0] = V::fma(c, e, V::add(V::sub(d[0], d[2]), f));
  r[1] = V::add(s, t);
  r[2] = V::sub(s, t);
  r[3] = V::fma(V::set(2.0f), e, f);
  r[4] = V::fma(V::set(-0.5f), e, f);
  r[5] = V::fma(c, f, V::sub(V::sub(d[5], d[3]), e));
}

// y = A^T m
template <typename V>
inline __attribute__((always_inline)) void winograd_output_4(const typename V::Reg (&m)[6],
                                                             typename V::Reg (&y)[4]) {
  using Reg = typename V::Reg;
  const Reg u = V::add(m[1], m[2]), v = V::sub(m[1], m[2]);
  y[0] = V::add(V::add(m[0], u), V::add(m[3], m[4]));
  y[1] = V::fma(V::set(0.5f), m[3], V::fma(V::set(-2.0f), m[4], v));
  y[2] = V::fma(V::set(0.25f), m[3], V::fma(V::set(4.0f), m[4], u));
  y[3] = V::fma(V::set(0.125f), m[3], V::fma(V::set(-8.0f), m[4], V::add(v, m[5])));
}

template <typename V, bool kPart>
inline __attribute__((always_inline)) void winograd_input_register(const float* const* pixels,
                                                                   std::int64_t c, std::int64_t n,
                                                                   float* out,
                                                                   std::ptrdiff_t stride) {
  using Reg = typename V::Reg;
  float half[36 * V::kLanes];
  for (int x = 0; x < 6; ++x) {
    Reg d[6], r[6];
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) d[y] = load_part<V, kPart>(pixels[6 * y + x] + c, n);
    winograd_input_6<V>(d, r);
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) V::store(half + (6 * y + x) * V::kLanes, r[y]);
  }
  for (int y = 0; y < 6; ++y) {
    Reg d[6], r[6];
#pragma GCC unroll 6
    for (int x = 0; x < 6; ++x) d[x] = V::load(half + (6 * y + x) * V::kLanes);
    winograd_input_6<V>(d, r);
#pragma GCC unroll 6
    for (int x = 0; x < 6; ++x) {
      float* to = out + (6 * y + x) * stride + c;
      if constexpr (kPart) {
        float lanes[V::kLanes];
        V::store(lanes, r[x]);
        for (std::int64_t i = 0; i < n; ++i) to[i] = lanes[i];
      } else {
        V::store(to, r[x]);
      }
    }
  }
}

template <typename V>
void winograd_input(const float* const* pixels, std::int64_t channels, float* out,
                    std::ptrdiff_t stride) {
  std::int64_t c = 0;
  for (; c + V::kLanes <= channels; c += V::kLanes) {
    winograd_input_register<V, false>(pixels, c, V::kLanes, out, stride);
  }
  if (c < channels) winograd_input_register<V, true>(pixels, c, channels - c, out, stride);
}

template <typename V, bool kPart>
inline __attribute__((always_inline)) void winograd_output_register(const float* in,
                                                                    std::ptrdiff_t stride,
                                                                    const DotTile& whole,
                                                                    DotTile& tile) {
  using Reg = typename V::Reg;
  float half[24 * V::kLanes];
  for (int x = 0; x < 6; ++x) {
    Reg m[6], y[4];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) {
      m[i] = load_part<V, kPart>(in + (6 * i + x) * stride + tile.column, tile.n);
    }
    winograd_output_4<V>(m, y);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) V::store(half + (6 * i + x) * V::kLanes, y[i]);
  }
  for (int row = 0; row < 4; ++row) {
    Reg m[6], y[4], acc[4][1];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) m[i] = V::load(half + (6 * row + i) * V::kLanes);
    winograd_output_4<V>(m, y);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) acc[i][0] = y[i];
    tile.c = whole.c + 4 * row;
    tile.residual = whole.residual ? whole.residual + 4 * row : nullptr;
    finish_registers_part<V, 4, 1, kPart>(tile, acc);
  }
}

template <typename V>
void winograd_output(const float* in, std::ptrdiff_t stride, std::int64_t channels,
                     const DotTile& whole) {
  DotTile tile = whole;
  const auto at = [&](std::int64_t c, std::int64_t n) {
    tile.column = c;
    tile.n = n;
    tile.bias = whole.bias ? whole.bias + c : nullptr;
    tile.slope = whole.slope ? whole.slope + c : nullptr;
  };
  std::int64_t c = 0;
  for (; c + V::kLanes <= channels; c += V::kLanes) {
    at(c, V::kLanes);
    winograd_output_register<V, false>(in, stride, whole, tile);
  }
  if (c == channels) return;
  at(c, channels - c);
  winograd_output_register<V, true>(in, stride, whole, tile);
}

}  // namespace treadle::kernels
