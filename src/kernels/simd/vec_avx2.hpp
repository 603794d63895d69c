// Eight floats in an AVX2 register. For files compiled with AVX2 and FMA only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace treadle::kernels {
namespace {

struct Avx2 {
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg set(float x) { return _mm256_set1_ps(x); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  // The first n < kLanes values at p, the rest zero; reads nothing else.
  static Reg load_n(const float* p, std::int64_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane));
  }
  static void store(float* p, Reg x) { _mm256_storeu_ps(p, x); }
  static Reg add(Reg x, Reg y) { return _mm256_add_ps(x, y); }
  static Reg sub(Reg x, Reg y) { return _mm256_sub_ps(x, y); }
  static Reg mul(Reg x, Reg y) { return _mm256_mul_ps(x, y); }
  // x y + z
  static Reg fma(Reg x, Reg y, Reg z) { return _mm256_fmadd_ps(x, y, z); }
  // lo or hi where x lies beyond; x where it is NaN.
  static Reg at_least(Reg lo, Reg x) { return _mm256_max_ps(lo, x); }
  static Reg at_most(Reg hi, Reg x) { return _mm256_min_ps(hi, x); }
  // y where the sign bit of x is set, else x.
  static Reg if_negative(Reg x, Reg y) { return _mm256_blendv_ps(x, y, x); }
};

}  // namespace
}  // namespace treadle::kernels
