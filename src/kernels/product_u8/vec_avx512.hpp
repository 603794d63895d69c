// What the 8-bit tiles want of AVX-512 registers, but for the products.
#pragma once

#include <immintrin.h>

#include <cstdint>

// GCC 12 takes the undefined operand inside its own intrinsics for a mistake (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace treadle::kernels::avx512 {

struct RegistersU8 {
  static constexpr int kLanes = 16;
  using Reg = __m512i;
  using Floats = __m512;

  static Reg load(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static Reg all(std::int32_t v) { return _mm512_set1_epi32(v); }
  static Floats all(float v) { return _mm512_set1_ps(v); }
  // Of bytes, each flipped.
  static Reg widened(const std::uint8_t* p, Reg flip) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_xor_si512(_mm512_cvtepu8_epi32(bytes), flip);
  }
  static Reg add(Reg a, Reg b) { return _mm512_add_epi32(a, b); }
  static Floats scaled(Reg sum, const float* factor) {
    return _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(factor));
  }
  static Floats clamp(Floats x, Floats low, Floats high) {
    return _mm512_min_ps(_mm512_max_ps(x, low), high);
  }
  static __m128i rounded(Floats x, Reg zero) {
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_cvtps_epi32(x), zero));
  }
  static void store(std::int32_t* p, Reg x) { _mm512_storeu_si512(p, x); }
  static void store(float* p, Floats x) { _mm512_storeu_ps(p, x); }
  static void store(std::uint8_t* p, __m128i x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x);
  }
};

}  // namespace treadle::kernels::avx512
