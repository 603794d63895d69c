// What the 8-bit tiles want of AVX2 registers, but for the products.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace treadle::kernels::avx2 {

struct RegistersU8 {
  static constexpr int kLanes = 8;
  using Reg = __m256i;
  using Floats = __m256;

  static Reg load(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Reg all(std::int32_t v) { return _mm256_set1_epi32(v); }
  static Floats all(float v) { return _mm256_set1_ps(v); }
  // Of bytes, each flipped.
  static Reg widened(const std::uint8_t* p, Reg flip) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_xor_si256(_mm256_cvtepu8_epi32(bytes), flip);
  }
  static Reg add(Reg a, Reg b) { return _mm256_add_epi32(a, b); }
  static Floats scaled(Reg sum, const float* factor) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(factor));
  }
  static Floats clamp(Floats x, Floats low, Floats high) {
    return _mm256_min_ps(_mm256_max_ps(x, low), high);
  }
  // Eight bytes in the low half.
  static __m128i rounded(Floats x, Reg zero) {
    const __m256i y = _mm256_add_epi32(_mm256_cvtps_epi32(x), zero);
    const __m256i low = _mm256_and_si256(y, _mm256_set1_epi32(255));
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    return _mm_packus_epi16(words, words);
  }
  static void store(std::int32_t* p, Reg x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
  }
  static void store(float* p, Floats x) { _mm256_storeu_ps(p, x); }
  static void store(std::uint8_t* p, __m128i x) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), x);
  }
};

}  // namespace treadle::kernels::avx2
