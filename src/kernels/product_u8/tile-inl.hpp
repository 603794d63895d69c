// The tile over a vector class V. Included by the per-instruction-set files only. V has:
// kLanes; Reg (i32), Floats; Weights and Values, the factors as dot() wants them;
// weights(bytes), values(four bytes, flip), dot(sum, values, weights); widened(bytes, flip) and
// multiplied(sum, x, weights of 16 bits) of lanes; conversions and stores.
#pragma once

#include "kernels/product_u8/tile.hpp"

namespace treadle::kernels {

template <int kRows, int kVectors, typename F>
inline __attribute__((always_inline)) void each_sum(F&& f) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) f(r, j);
  }
}

inline __attribute__((always_inline)) std::uint32_t four_bytes(const std::uint8_t* p) {
  std::uint32_t v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

// The first one to three of four bytes; what lies behind them is not read.
inline __attribute__((always_inline)) std::uint32_t some_bytes(const std::uint8_t* p,
                                                               std::int64_t n) {
  std::uint32_t v = p[0];
  if (n > 1) v |= static_cast<std::uint32_t>(p[1]) << 8;
  if (n > 2) v |= static_cast<std::uint32_t>(p[2]) << 16;
  return v;
}

// Stores the first `count` elements, or with !kPart all.
template <typename V, bool kPart, typename T, typename R>
inline __attribute__((always_inline)) void store_lanes(T* to, R value, std::int64_t count) {
  if constexpr (!kPart) {
    V::store(to, value);
  } else {
    T lanes[V::kLanes];
    V::store(lanes, value);
    for (std::int64_t i = 0; i < count; ++i) to[i] = lanes[i];
  }
}

// Calls store.operator()<kPart>(row, register, elements); kPart: the last register of each row
// holds fewer columns than lanes.
template <typename V, int kRows, int kVectors, bool kPart, typename F>
inline __attribute__((always_inline)) void each_store(const TileU8& t, F&& store) {
  constexpr int kLast = kVectors - 1;
  const std::int64_t rest = t.n - kLast * V::kLanes;
  each_sum<kRows, kVectors>([&](int r, int j) __attribute__((always_inline)) {
    if (kPart && j == kLast)
      store.template operator()<kPart>(r, j, rest);
    else
      store.template operator()<false>(r, j, std::int64_t{V::kLanes});
  });
}

template <typename V, int kRows, int kVectors, bool kPart>
inline __attribute__((always_inline)) void store_sums(const TileU8& t,
                                                      typename V::Reg (&sum)[kRows][kVectors]) {
  if (t.store == StoreU8::I32) {
    each_store<V, kRows, kVectors, kPart>(
        t, [&]<bool kSome>(int r, int j, std::int64_t count) __attribute__((always_inline)) {
          store_lanes<V, kSome>(static_cast<std::int32_t*>(t.c[r]) + t.column + j * V::kLanes,
                                sum[r][j], count);
        });
    return;
  }
  const typename V::Floats low = V::all(t.low), high = V::all(t.high);
  const typename V::Reg zero = V::all(t.zero);
  const auto scaled = [&](int r, int j) __attribute__((always_inline)) {
    return V::clamp(V::scaled(sum[r][j], t.factor + j * V::kLanes), low, high);
  };
  if (t.store == StoreU8::F32) {
    each_store<V, kRows, kVectors, kPart>(
        t, [&]<bool kSome>(int r, int j, std::int64_t count) __attribute__((always_inline)) {
          store_lanes<V, kSome>(static_cast<float*>(t.c[r]) + t.column + j * V::kLanes,
                                scaled(r, j), count);
        });
    return;
  }
  each_store<V, kRows, kVectors, kPart>(
      t, [&]<bool kSome>(int r, int j, std::int64_t count) __attribute__((always_inline)) {
        store_lanes<V, kSome>(static_cast<std::uint8_t*>(t.c[r]) + t.column + j * V::kLanes,
                              V::rounded(scaled(r, j), zero), count);
      });
}

// Sums are kept in kSplit interleaved sets where one set would wait for the latency of dot().
template <typename V, int kRows, int kVectors>
void tile_u8(const TileU8& t) {
  using Reg = typename V::Reg;
  constexpr int kWidth = kVectors * V::kLanes;
  constexpr int kSplit = kRows * kVectors <= 3 ? 4 : kRows * kVectors <= 5 ? 2 : 1;
  Reg acc[kSplit][kRows][kVectors];
  Reg start[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) start[j] = V::load(t.start + j * V::kLanes);
  each_sum<kRows, kVectors>([&](int r, int j) { acc[0][r][j] = start[j]; });
#pragma GCC unroll 4
  for (int s = 1; s < kSplit; ++s) {
    each_sum<kRows, kVectors>([&](int r, int j) { acc[s][r][j] = V::all(0); });
  }
  const std::int8_t* b = t.b;
  const std::int64_t quads = t.k / 4, rest = t.k % 4;
  const Reg flip = V::all(static_cast<std::int32_t>(t.flip));
  for (std::int64_t tap = 0; tap < t.taps; ++tap) {
    const std::uint8_t* a[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) a[r] = t.a[tap * t.tap_stride + r];
    const auto step = [&](auto&& quad_of, Reg(&sum)[kRows][kVectors])
        __attribute__((always_inline)) {
      typename V::Weights w[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) w[j] = V::weights(b + j * V::kLanes * 4);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const typename V::Values x = V::values(quad_of(a[r]), flip);
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) sum[r][j] = V::dot(sum[r][j], x, w[j]);
      }
      b += kWidth * 4;
    };
    constexpr int kStep = kSplit > 1 ? kSplit : 2;
    std::int64_t i = 0;
    for (; i + kStep <= quads; i += kStep) {
#pragma GCC unroll 4
      for (int s = 0; s < kStep; ++s) {
        step([&](const std::uint8_t* p) { return four_bytes(p + (i + s) * 4); },
             acc[kSplit > 1 ? s : 0]);
      }
    }
    for (; i < quads; ++i) {
      step([&](const std::uint8_t* p) { return four_bytes(p + i * 4); }, acc[0]);
    }
    if (rest != 0) {
      step([&](const std::uint8_t* p) { return some_bytes(p + quads * 4, rest); }, acc[0]);
    }
  }
#pragma GCC unroll 4
  for (int s = 1; s < kSplit; ++s) {
    each_sum<kRows, kVectors>(
        [&](int r, int j) { acc[0][r][j] = V::add(acc[0][r][j], acc[s][r][j]); });
  }
  if (t.n == kWidth)
    store_sums<V, kRows, kVectors, false>(t, acc[0]);
  else
    store_sums<V, kRows, kVectors, true>(t, acc[0]);
}

// One register of channels; kPart: fewer channels than lanes.
template <typename V, int kRows, bool kPart>
inline __attribute__((always_inline)) void depthwise_register(const TileU8& t, std::int64_t at) {
  using Reg = typename V::Reg;
  TileU8 part = t;
  part.column = t.column + at;
  part.factor = t.factor + at;
  const Reg flip = V::all(static_cast<std::int32_t>(t.flip & 255));
  const auto* w = reinterpret_cast<const std::int32_t*>(t.b) + at;
  Reg acc[kRows][1];
  each_sum<kRows, 1>([&](int r, int) { acc[r][0] = V::load(t.start + at); });
  for (std::int64_t tap = 0; tap < t.taps; ++tap, w += t.k) {
    const Reg weights = V::load(w);
    const std::uint8_t* const* a = t.a + tap * t.tap_stride;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      Reg x;
      if constexpr (kPart) {
        std::uint8_t bytes[V::kLanes] = {};
        for (std::int64_t i = 0; i < t.n; ++i) bytes[i] = a[r][i];
        x = V::widened(bytes, flip);
      } else {
        x = V::widened(a[r] + at, flip);
      }
      acc[r][0] = V::multiplied(acc[r][0], x, weights);
    }
  }
  store_sums<V, kRows, 1, kPart>(part, acc);
}

// The last register begins earlier where there are enough channels: some are computed twice.
template <typename V, int kRows>
void depthwise_u8(const TileU8& t) {
  if (t.n < V::kLanes) {
    depthwise_register<V, kRows, true>(t, 0);
    return;
  }
  std::int64_t at = 0;
  for (; at + V::kLanes <= t.n; at += V::kLanes) depthwise_register<V, kRows, false>(t, at);
  if (at < t.n) depthwise_register<V, kRows, false>(t, t.n - V::kLanes);
}

template <typename V, int kRows>
void add_depthwise_u8(KernelsU8& out) {
  if constexpr (kRows > 0) {
    if (out.depthwise_rows < kRows) out.depthwise_rows = kRows;
    out.depthwise[kRows] = depthwise_u8<V, kRows>;
    add_depthwise_u8<V, kRows - 1>(out);
  }
}

// Fills the entries of one panel width with tiles of 1 to kRows rows.
template <typename V, int kVectors, int kRows>
void add_tiles_u8(KernelsU8& out) {
  if constexpr (kRows > 0) {
    if (out.rows[kVectors] < kRows) out.rows[kVectors] = kRows;
    out.tile[kVectors][kRows] = tile_u8<V, kRows, kVectors>;
    add_tiles_u8<V, kVectors, kRows - 1>(out);
  }
}

}  // namespace treadle::kernels
