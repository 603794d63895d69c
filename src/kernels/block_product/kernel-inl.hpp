// The block kernels over a vector type V (see simd/) that also reads numbers of few bits. Included
// by the per-instruction-set files only.
//
//   V::Words              kLanes words
//   V::load_words(p)
//   V::numbers<bits>(w, shift)   the numbers at bit `shift` of each word, in two's complement, as
//                         floats
//   V::load_bytes(p)      kLanes signed bytes as floats
#pragma once

#include "kernels/block_product/kernel.hpp"

namespace treadle::kernels {

// A few rows keep their sums in interleaved sets, as one would wait for the adder's latency.
template <typename V, int kBits, int kRows, bool kZeros>
void block_dot(const BlockPanel& p, std::int64_t words, const float* x, float* sums) {
  using Reg = typename V::Reg;
  constexpr int kLanes = V::kLanes, kNumbers = 32 / kBits;
  constexpr int kSplit = kRows == 1 ? 4 : kRows < 4 ? 2 : 1;
  Reg total[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) total[r] = V::zero();
  const std::uint32_t* w = p.words;
  for (std::int64_t block = 0, at = 0; at < words; ++block) {
    const std::int64_t left = words - at;
    const std::int64_t count = left < p.words_per_block ? left : p.words_per_block;
    at += count;
    Reg zero = V::zero();
    if constexpr (kZeros) zero = V::load_bytes(p.zeros + block * kLanes);
    Reg acc[kSplit][kRows];
#pragma GCC unroll 4
    for (int s = 0; s < kSplit; ++s) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) acc[s][r] = V::zero();
    }
    for (std::int64_t i = 0; i < count; ++i, w += kLanes, x += kNumbers * kRows) {
      const typename V::Words word = V::load_words(w);
#pragma GCC unroll 16
      for (int s = 0; s < kNumbers; ++s) {
        Reg v = V::template numbers<kBits>(word, s * kBits);
        if constexpr (kZeros) v = V::sub(v, zero);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          acc[s % kSplit][r] = V::fma(V::set(x[s * kRows + r]), v, acc[s % kSplit][r]);
        }
      }
    }
    const Reg scale = V::load(p.scales + block * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int s = 1; s < kSplit; ++s) acc[0][r] = V::add(acc[0][r], acc[s][r]);
      total[r] = V::fma(acc[0][r], scale, total[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) V::store(sums + r * kLanes, total[r]);
}

template <typename V, int kBits>
void block_unpack(const BlockPanel& p, std::int64_t first, std::int64_t count, float* out,
                  std::ptrdiff_t stride) {
  using Reg = typename V::Reg;
  constexpr int kLanes = V::kLanes, kNumbers = 32 / kBits;
  for (std::int64_t word = first / kNumbers; count > 0; ++word, count -= kNumbers) {
    const std::int64_t block = word / p.words_per_block;
    const Reg zero = p.zeros ? V::load_bytes(p.zeros + block * kLanes) : V::zero();
    const Reg scale = V::load(p.scales + block * kLanes);
    const typename V::Words numbers = V::load_words(p.words + word * kLanes);
    const auto put = [&](int s) __attribute__((always_inline)) {
      V::store(out, V::mul(V::sub(V::template numbers<kBits>(numbers, s * kBits), zero), scale));
      out += stride;
    };
    if (count >= kNumbers) {
#pragma GCC unroll 16
      for (int s = 0; s < kNumbers; ++s) put(s);
    } else {
      for (int s = 0; s < count; ++s) put(s);
    }
  }
}

template <typename V, int kBits, int kRows>
void add_block_rows(BlockKernels& out) {
  if constexpr (kRows > 0) {
    out.dot[block_kind(kBits)][0][kRows] = block_dot<V, kBits, kRows, false>;
    out.dot[block_kind(kBits)][1][kRows] = block_dot<V, kBits, kRows, true>;
    add_block_rows<V, kBits, kRows - 1>(out);
  } else {
    out.unpack[block_kind(kBits)] = block_unpack<V, kBits>;
  }
}

template <typename V, int kRows>
BlockKernels make_block_kernels(Isa isa) {
  BlockKernels k;
  k.isa = isa;
  k.lanes = V::kLanes;
  k.rows = kRows;
  add_block_rows<V, 2, kRows>(k);
  add_block_rows<V, 4, kRows>(k);
  add_block_rows<V, 8, kRows>(k);
  return k;
}

}  // namespace treadle::kernels
