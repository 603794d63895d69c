// Sixteen floats in an AVX-512 register. For files compiled with AVX-512 F, BW, DQ, VL only.
#pragma once

// GCC 12 takes the undefined operands inside its own intrinsics for a fault (GCC PR 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <cstdint>

namespace treadle::kernels {
namespace {

struct Avx512 {
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg set(float x) { return _mm512_set1_ps(x); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  // The first n < kLanes values at p, the rest zero; reads nothing else.
  static Reg load_n(const float* p, std::int64_t n) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p);
  }
  static void store(float* p, Reg x) { _mm512_storeu_ps(p, x); }
  static Reg add(Reg x, Reg y) { return _mm512_add_ps(x, y); }
  static Reg sub(Reg x, Reg y) { return _mm512_sub_ps(x, y); }
  static Reg mul(Reg x, Reg y) { return _mm512_mul_ps(x, y); }
  // x y + z
  static Reg fma(Reg x, Reg y, Reg z) { return _mm512_fmadd_ps(x, y, z); }
  // lo or hi where x lies beyond; x where it is NaN.
  static Reg at_least(Reg lo, Reg x) { return _mm512_max_ps(lo, x); }
  static Reg at_most(Reg hi, Reg x) { return _mm512_min_ps(hi, x); }
  // y where the sign bit of x is set, else x.
  static Reg if_negative(Reg x, Reg y) {
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(x)), x, y);
  }
};

}  // namespace
}  // namespace treadle::kernels
