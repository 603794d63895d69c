// The dot tile over a vector type V (see simd/). Included by the per-instruction-set files only.
#pragma once

#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

template <typename V, int kRows, int kVectors, typename F>
inline __attribute__((always_inline)) void each_register(F&& f) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) f(r, j);
  }
}

template <typename V, bool kPart>
inline __attribute__((always_inline)) typename V::Reg load_part(const float* p, std::int64_t n) {
  if constexpr (kPart) return V::load_n(p, n);
  return V::load(p);
}

template <typename V, int kRows, int kVectors>
inline __attribute__((always_inline)) void activate_registers(
    const DotTile& t, const typename V::Reg (&slope)[kVectors],
    typename V::Reg (&acc)[kRows][kVectors]) {
  using Reg = typename V::Reg;
  const Reg a = V::set(t.act_a), b = V::set(t.act_b);
  const auto unit = [&](Reg x) {
    return V::at_most(V::set(1.0f), V::at_least(V::zero(), V::fma(a, x, b)));
  };
  switch (t.act) {
    case Act::Relu:
      each_register<V, kRows, kVectors>(
          [&](int r, int j) { acc[r][j] = V::at_least(V::zero(), acc[r][j]); });
      break;
    case Act::Clip:
      each_register<V, kRows, kVectors>(
          [&](int r, int j) { acc[r][j] = V::at_most(b, V::at_least(a, acc[r][j])); });
      break;
    case Act::LeakyRelu:
      each_register<V, kRows, kVectors>(
          [&](int r, int j) { acc[r][j] = V::if_negative(acc[r][j], V::mul(a, acc[r][j])); });
      break;
    case Act::PRelu:
      each_register<V, kRows, kVectors>([&](int r, int j) {
        acc[r][j] = V::if_negative(acc[r][j], V::mul(slope[j], acc[r][j]));
      });
      break;
    case Act::HardSigmoid:
      each_register<V, kRows, kVectors>([&](int r, int j) { acc[r][j] = unit(acc[r][j]); });
      break;
    case Act::HardSwish:
      each_register<V, kRows, kVectors>(
          [&](int r, int j) { acc[r][j] = V::mul(acc[r][j], unit(acc[r][j])); });
      break;
    default:
      break;
  }
}

// kPart: the last register of each row holds fewer columns than lanes.
template <typename V, int kRows, int kVectors, bool kPart>
inline __attribute__((always_inline)) void finish_registers_part(
    const DotTile& t, typename V::Reg (&acc)[kRows][kVectors]) {
  using Reg = typename V::Reg;
  constexpr int kLanes = V::kLanes, kLast = kVectors - 1;
  const std::int64_t rest = t.n - kLast * kLanes;
  const auto load = [&](const float* p, int j) {
    return kPart && j == kLast ? load_part<V, kPart>(p + j * kLanes, rest)
                               : V::load(p + j * kLanes);
  };
  const auto add_rows = [&](const float* const* rows) {
    each_register<V, kRows, kVectors>(
        [&](int r, int j) { acc[r][j] = V::add(acc[r][j], load(rows[r] + t.column, j)); });
  };
  const auto load_columns = [&](const float* p, Reg(&out)[kVectors]) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) out[j] = load(p, j);
  };
  if (t.add_c) add_rows(t.c);
  if (t.bias) {
    Reg bias[kVectors];
    load_columns(t.bias, bias);
    each_register<V, kRows, kVectors>(
        [&](int r, int j) { acc[r][j] = V::add(acc[r][j], bias[j]); });
  }
  if (t.residual && t.residual_before_act) add_rows(t.residual);
  if (t.act != Act::None) {
    Reg slope[kVectors] = {};
    if (t.act == Act::PRelu) load_columns(t.slope, slope);
    activate_registers<V, kRows, kVectors>(t, slope, acc);
  }
  if (t.residual && !t.residual_before_act) add_rows(t.residual);
  each_register<V, kRows, kVectors>([&](int r, int j) {
    float* const to = t.c[r] + t.column + j * kLanes;
    if (!kPart || j != kLast) {
      V::store(to, acc[r][j]);
      return;
    }
    float lanes[kLanes];
    V::store(lanes, acc[r][j]);
    for (std::int64_t i = 0; i < rest; ++i) to[i] = lanes[i];
  });
}

template <typename V, int kRows, int kVectors>
inline __attribute__((always_inline)) void finish_registers(
    const DotTile& t, typename V::Reg (&acc)[kRows][kVectors]) {
  if (t.n == kVectors * V::kLanes) {
    finish_registers_part<V, kRows, kVectors, false>(t, acc);
  } else {
    finish_registers_part<V, kRows, kVectors, true>(t, acc);
  }
}

// A single row keeps its sums in four interleaved sets, as one would wait for the adder's latency.
// However wide a panel is and however the rows are cut, all columns of a row are summed in the same
// order: equal columns give equal results.
template <typename V, int kRows, int kVectors>
void dot_tile(const DotTile& t) {
  using Reg = typename V::Reg;
  constexpr int kWidth = kVectors * V::kLanes;
  constexpr int kSplit = kRows == 1 ? 4 : 1;
  Reg acc[kSplit][kRows][kVectors];
#pragma GCC unroll 4
  for (int s = 0; s < kSplit; ++s) {
    each_register<V, kRows, kVectors>([&](int r, int j) { acc[s][r][j] = V::zero(); });
  }
  constexpr int kLineFloats = 16;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kWidth; j += kLineFloats) __builtin_prefetch(t.c[r] + t.column + j, 1);
  }
  for (std::int64_t i = 0; i < t.prefetch_lines; ++i) {
    __builtin_prefetch(t.next + i * kLineFloats, 0, 2);
  }
  const float* b = t.b;
  const std::int64_t k = t.k;
  for (std::int64_t tap = 0; tap < t.taps; ++tap) {
    const float* a[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) a[r] = t.a[tap * t.tap_stride + r];
    const auto step = [&](std::int64_t i, Reg(&sum)[kRows][kVectors])
        __attribute__((always_inline)) {
      Reg column[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) column[j] = V::load(b + j * V::kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Reg x = V::set(a[r][i]);
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) sum[r][j] = V::fma(x, column[j], sum[r][j]);
      }
      b += kWidth;
    };
    constexpr int kStep = kSplit > 1 ? kSplit : 2;
    std::int64_t i = 0;
    for (; i + kStep <= k; i += kStep) {
#pragma GCC unroll 4
      for (int s = 0; s < kStep; ++s) step(i + s, acc[kSplit > 1 ? s : 0]);
    }
    for (; i < k; ++i) step(i, acc[0]);
  }
#pragma GCC unroll 4
  for (int s = 1; s < kSplit; ++s) {
    each_register<V, kRows, kVectors>(
        [&](int r, int j) { acc[0][r][j] = V::add(acc[0][r][j], acc[s][r][j]); });
  }
  finish_registers<V, kRows, kVectors>(t, acc[0]);
}

// Fills the entries of one panel width with tiles of 1 to kRows rows.
template <typename V, int kVectors, int kRows>
void add_tiles(DotKernels& out) {
  if constexpr (kRows > 0) {
    if (out.rows[kVectors] < kRows) out.rows[kVectors] = kRows;
    out.tile[kVectors][kRows] = dot_tile<V, kRows, kVectors>;
    add_tiles<V, kVectors, kRows - 1>(out);
  }
}

}  // namespace treadle::kernels
