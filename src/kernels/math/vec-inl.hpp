// Vectors of floats as wide as the flags of the including file allow, and functions on them.
// Included by one file per instruction set; everything here has internal linkage.
#pragma once

#if defined(__AVX512F__)
// GCC 12 takes the undefined operands inside its own intrinsics for a fault (GCC PR 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include <cstdint>

namespace treadle::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float F __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t I __attribute__((vector_size(4 * kLanes)));
typedef std::uint32_t U __attribute__((vector_size(4 * kLanes)));

inline F set(float x) {
  return x - F{};
}
inline F load(const float* p) {
  F v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, F v) {
  __builtin_memcpy(p, &v, sizeof v);
}
// The first m < kLanes values; the others are `rest`.
inline F load_part(const float* p, std::int64_t m, float rest = 0.0f) {
  float t[kLanes];
  for (int i = 0; i < kLanes; ++i) t[i] = i < m ? p[i] : rest;
  return load(t);
}
inline void store_part(float* p, std::int64_t m, F v) {
  float t[kLanes];
  store(t, v);
  for (int i = 0; i < m; ++i) p[i] = t[i];
}

typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));
typedef std::int8_t SignedBytes __attribute__((vector_size(kLanes)));
// As wide as a register.
constexpr int kBytes = 4 * kLanes;
typedef std::uint8_t FullBytes __attribute__((vector_size(kBytes)));
typedef std::int8_t FullSignedBytes __attribute__((vector_size(kBytes)));
typedef std::uint16_t Words __attribute__((vector_size(2 * kLanes)));
typedef std::int16_t SignedWords __attribute__((vector_size(2 * kLanes)));

// GCC takes these conversions to pieces where it is not helped.
inline I widened(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<I>(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<I>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  Bytes b;
  __builtin_memcpy(&b, p, sizeof b);
  return __builtin_convertvector(__builtin_convertvector(b, Words), I);
#endif
}
inline I widened(const std::int8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<I>(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<I>(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  SignedBytes b;
  __builtin_memcpy(&b, p, sizeof b);
  return __builtin_convertvector(__builtin_convertvector(b, SignedWords), I);
#endif
}
inline Bytes low_bytes(I x) {
#if defined(__AVX512F__)
  return __builtin_convertvector(x, Bytes);
#else
  return __builtin_convertvector(__builtin_convertvector(x, Words), Bytes);
#endif
}

// x y + z, rounded once where the machine can.
inline F fma(F x, F y, F z) {
#if defined(__AVX512F__)
  return static_cast<F>(_mm512_fmadd_ps(x, y, z));
#elif defined(__AVX2__)
  return static_cast<F>(_mm256_fmadd_ps(x, y, z));
#elif defined(__ARM_NEON) && defined(__aarch64__)
  return static_cast<F>(vfmaq_f32(z, x, y));
#else
  return x * y + z;
#endif
}
inline F square_root(F x) {
#if defined(__AVX512F__)
  return static_cast<F>(_mm512_sqrt_ps(x));
#elif defined(__AVX2__)
  return static_cast<F>(_mm256_sqrt_ps(x));
#elif defined(__SSE2__)
  return static_cast<F>(_mm_sqrt_ps(x));
#else
  F r;
  for (int i = 0; i < kLanes; ++i) r[i] = __builtin_sqrtf(x[i]);
  return r;
#endif
}

inline I bits(F x) {
  return reinterpret_cast<I>(x);
}
inline F from_bits(I x) {
  return reinterpret_cast<F>(x);
}
inline F pick(I mask, F x, F y) {
  return mask ? x : y;
}
inline F absolute(F x) {
  return from_bits(bits(x) & 0x7fffffff);
}
// |x| with the sign of s.
inline F with_sign(F x, F s) {
  return from_bits((bits(x) & 0x7fffffff) | (bits(s) & static_cast<std::int32_t>(0x80000000)));
}
// x, but not below lo, above hi; NaN stays.
inline F at_least(F lo, F x) {
  return pick(x < lo, lo, x);
}
inline F at_most(F hi, F x) {
  return pick(x > hi, hi, x);
}
// NaN wins.
inline F larger(F x, F y) {
  return pick((x > y) | (x != x), x, y);
}
inline F smaller(F x, F y) {
  return pick((x < y) | (x != x), x, y);
}

// Half to even; keeps the sign of zero.
inline F round_even(F x) {
  const F big = with_sign(set(8388608.0f), x);
  return pick(absolute(x) < 8388608.0f, with_sign((x + big) - big, x), x);
}
inline F round_down(F x) {
  const F r = round_even(x);
  return pick(r > x, r - 1.0f, r);
}
inline F round_up(F x) {
  const F r = round_even(x);
  return pick(r < x, with_sign(r + 1.0f, x), r);
}

// c[0] + c[1] x + …
template <int n>
inline F poly(F x, const float (&c)[n]) {
  F r = set(c[n - 1]);
  for (int i = n - 2; i >= 0; --i) r = fma(r, x, set(c[i]));
  return r;
}

// 2^n for −126 ≤ n ≤ 127.
inline F power_of_2(I n) {
  return from_bits(reinterpret_cast<I>(reinterpret_cast<U>(n + 127) << 23));
}

constexpr float kLog2Hi = 0.693359375f;
constexpr float kLog2Lo = -2.12194440e-4f;

// x = n log 2 + r with |r| ≤ log 2 / 2, and e^r − 1; for |x| ≤ 200.
struct Reduced {
  I n;
  F less_one;
};
inline Reduced reduce_exp(F x) {
  constexpr float kP[] = {5.000000000e-01f, 1.666651815e-01f, 4.166620597e-02f, 8.368953131e-03f,
                          1.395060215e-03f};
  constexpr float kMagic = 12582912.0f;
  const F t = fma(x, set(1.44269504088896341f), set(kMagic));
  const F n = t - kMagic;
  F r = fma(n, set(-kLog2Hi), x);
  r = fma(n, set(-kLog2Lo), r);
  const U whole = reinterpret_cast<U>(t) - 0x4b400000u;
  return {reinterpret_cast<I>(whole), fma(r * r, poly(r, kP), r)};
}

inline F exponential(F x) {
  const F c = at_least(set(-104.0f), at_most(set(88.8f), x));
  const Reduced e = reduce_exp(c);
  const I ok = c == c;
  const I n = e.n & ok;
  const I half = n >> 1;
  return (e.less_one + 1.0f) * power_of_2(half) * power_of_2(n - half);
}

// e^x − 1 for x ≤ 60.
inline F exponential_less_one(F x) {
  const F c = at_least(set(-30.0f), x);
  const Reduced e = reduce_exp(c);
  const F s = power_of_2(e.n & (c == c));
  return pick(x == 0.0f, x, fma(s, e.less_one, s - 1.0f));
}

inline F logarithm(F x) {
  constexpr float kP[] = {3.333331048e-01f,  -2.499998659e-01f, 2.000222653e-01f,
                          -1.666924953e-01f, 1.421865523e-01f,  -1.238436997e-01f,
                          1.187301651e-01f,  -1.178969592e-01f, 6.915146858e-02f};
  constexpr std::int32_t kRootHalf = 0x3f3504f3;
  const I tiny = x < 1.17549435e-38f;
  const I positive = x > 0.0f;
  const F y = pick(positive, pick(tiny, x * 8388608.0f, x), set(1.0f));
  const I u = bits(y) - kRootHalf;
  const I e = (u >> 23) - (tiny & 23);
  const F f = from_bits((u & 0x007fffff) + kRootHalf) - 1.0f;
  const F n = __builtin_convertvector(e, F);
  const F f2 = f * f;
  F r = fma(n, set(kLog2Lo), f2 * f * poly(f, kP));
  r = fma(f2, set(-0.5f), r) + f;
  r = fma(n, set(kLog2Hi), r);
  const F inf = set(__builtin_inff());
  r = pick(x == inf, inf, r);
  return pick(positive, r, pick(x == 0.0f, -inf, set(__builtin_nanf(""))));
}

// log(1 + x) for 0 ≤ x ≤ 1.
inline F log_one_plus(F x) {
  const F w = x + 1.0f;
  return logarithm(w) + (x - (w - 1.0f)) / w;
}

inline F hyperbolic_tangent(F x) {
  const F m = at_most(set(10.0f), absolute(x));
  const F t = exponential_less_one(m + m);
  return with_sign(pick(m < 1e-4f, m, t / (t + 2.0f)), x);
}

inline F logistic(F x) {
  return 1.0f / (1.0f + exponential(-x));
}

// log(1 + e^x).
inline F soft_plus(F x) {
  return at_least(set(0.0f), x) + log_one_plus(exponential(-absolute(x)));
}

// Two fits: x P(x²) up to 1, 1 − exp(−Q(|x|)) beyond.
inline F error_function(F x) {
  constexpr float kSmall[] = {1.128379226e+00f,  -3.761263788e-01f, 1.128378287e-01f,
                              -2.686544508e-02f, 5.221074913e-03f,  -8.484711871e-04f,
                              1.127054566e-04f,  -9.680140465e-06f};
  constexpr float kLarge[] = {-1.880370546e-04f, 1.129578352e+00f,  6.332198977e-01f,
                              1.084185541e-01f,  -2.520824037e-02f, 4.204556346e-03f,
                              -4.413352872e-04f, 2.168676292e-05f};
  const F m = at_most(set(4.0f), absolute(x));
  const F large = 1.0f - exponential(-poly(m, kLarge));
  const F small = x * poly(x * x, kSmall);
  return pick(m < 1.0f, small, with_sign(large, x));
}

// Sine (quarter = 0) or cosine (quarter = 1).
inline F sine(F x, int quarter) {
  constexpr float kSin[] = {-1.666665375e-01f, 8.332131431e-03f, -1.951083977e-04f};
  constexpr float kCos[] = {4.166664556e-02f, -1.388730598e-03f, 2.443120502e-05f};
  constexpr float kMagic = 12582912.0f;
  const I fits = absolute(x) <= 8192.0f;
  const F y = pick(fits, x, set(0.0f));
  const F t = fma(y, set(0.636619772367581343f), set(kMagic));
  const F n = t - kMagic;
  F r = fma(n, set(-1.5703125f), y);
  r = fma(n, set(-4.837512969970703125e-4f), r);
  r = fma(n, set(-7.54978995489188216e-8f), r);
  const I q = bits(t) + quarter;
  const F z = r * r;
  const F s = fma(r * z, poly(z, kSin), r);
  const F c = fma(z * z, poly(z, kCos), fma(z, set(-0.5f), set(1.0f)));
  F v = pick((q & 1) != 0, c, s);
  v = from_bits(bits(v) ^ ((q & 2) << 30));
  bool all = true;
  for (int i = 0; i < kLanes; ++i) all = all && fits[i] != 0;
  if (all) [[likely]]
    return v;
  for (int i = 0; i < kLanes; ++i) {
    if (!fits[i]) v[i] = quarter ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
  }
  return v;
}

inline float sum_of(F x) {
  float s = 0.0f;
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) x[i] += x[i + half];
  }
  s += x[0];
  return s;
}

}  // namespace
}  // namespace treadle::kernels
