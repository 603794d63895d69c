// Functions of floating point of the metal_stdlib stand-in, by the host's C library: half goes
// through float and is rounded once.
#pragma clang system_header
#ifndef SOFTMETAL_MATH
#define SOFTMETAL_MATH

#include "common.h"

namespace metal {

// name of float by the C function, then of half and of vectors.
#define SOFTMETAL_VECTORS1(name, T)                                                       \
  inline T##2 name(T##2 a) { return T##2{name(a.x), name(a.y)}; }                         \
  inline T##3 name(T##3 a) { return T##3{name(a.x), name(a.y), name(a.z)}; }              \
  inline T##4 name(T##4 a) { return T##4{name(a.x), name(a.y), name(a.z), name(a.w)}; }
#define SOFTMETAL_VECTORS2(name, T)                                                       \
  inline T##2 name(T##2 a, T##2 b) { return T##2{name(a.x, b.x), name(a.y, b.y)}; }       \
  inline T##3 name(T##3 a, T##3 b) {                                                      \
    return T##3{name(a.x, b.x), name(a.y, b.y), name(a.z, b.z)};                          \
  }                                                                                       \
  inline T##4 name(T##4 a, T##4 b) {                                                      \
    return T##4{name(a.x, b.x), name(a.y, b.y), name(a.z, b.z), name(a.w, b.w)};          \
  }
#define SOFTMETAL_VECTORS3(name, T)                                                       \
  inline T##2 name(T##2 a, T##2 b, T##2 c) {                                              \
    return T##2{name(a.x, b.x, c.x), name(a.y, b.y, c.y)};                                \
  }                                                                                       \
  inline T##3 name(T##3 a, T##3 b, T##3 c) {                                              \
    return T##3{name(a.x, b.x, c.x), name(a.y, b.y, c.y), name(a.z, b.z, c.z)};           \
  }                                                                                       \
  inline T##4 name(T##4 a, T##4 b, T##4 c) {                                              \
    return T##4{name(a.x, b.x, c.x), name(a.y, b.y, c.y), name(a.z, b.z, c.z),            \
                name(a.w, b.w, c.w)};                                                     \
  }
#define SOFTMETAL_FLOAT1(name, expression)                                                \
  inline float name(float a) { return expression; }                                       \
  inline half name(half h) { return half(name(float(h))); }                               \
  SOFTMETAL_VECTORS1(name, float)                                                         \
  SOFTMETAL_VECTORS1(name, half)
#define SOFTMETAL_FLOAT2(name, expression)                                                \
  inline float name(float a, float b) { return expression; }                              \
  inline half name(half a, half b) { return half(name(float(a), float(b))); }             \
  SOFTMETAL_VECTORS2(name, float)                                                         \
  SOFTMETAL_VECTORS2(name, half)
#define SOFTMETAL_FLOAT3(name, expression)                                                \
  inline float name(float a, float b, float c) { return expression; }                     \
  inline half name(half a, half b, half c) {                                              \
    return half(name(float(a), float(b), float(c)));                                      \
  }                                                                                       \
  SOFTMETAL_VECTORS3(name, float)                                                         \
  SOFTMETAL_VECTORS3(name, half)

// What Metal has in a precise and a fast form, and without a namespace as the options of the
// compilation say. Here all three are the C library's.
#define SOFTMETAL_LIBRARY                                                                 \
  SOFTMETAL_FLOAT1(exp, __builtin_expf(a))                                                \
  SOFTMETAL_FLOAT1(exp2, __builtin_exp2f(a))                                              \
  SOFTMETAL_FLOAT1(exp10, __builtin_powf(10.0f, a))                                       \
  SOFTMETAL_FLOAT1(log, __builtin_logf(a))                                                \
  SOFTMETAL_FLOAT1(log2, __builtin_log2f(a))                                              \
  SOFTMETAL_FLOAT1(log10, __builtin_log10f(a))                                            \
  SOFTMETAL_FLOAT1(sqrt, __builtin_sqrtf(a))                                              \
  SOFTMETAL_FLOAT1(rsqrt, 1.0f / __builtin_sqrtf(a))                                      \
  SOFTMETAL_FLOAT1(sin, __builtin_sinf(a))                                                \
  SOFTMETAL_FLOAT1(cos, __builtin_cosf(a))                                                \
  SOFTMETAL_FLOAT1(tan, __builtin_tanf(a))                                                \
  SOFTMETAL_FLOAT1(asin, __builtin_asinf(a))                                              \
  SOFTMETAL_FLOAT1(acos, __builtin_acosf(a))                                              \
  SOFTMETAL_FLOAT1(atan, __builtin_atanf(a))                                              \
  SOFTMETAL_FLOAT1(sinh, __builtin_sinhf(a))                                              \
  SOFTMETAL_FLOAT1(cosh, __builtin_coshf(a))                                              \
  SOFTMETAL_FLOAT1(tanh, __builtin_tanhf(a))                                              \
  SOFTMETAL_FLOAT1(asinh, __builtin_asinhf(a))                                            \
  SOFTMETAL_FLOAT1(acosh, __builtin_acoshf(a))                                            \
  SOFTMETAL_FLOAT1(atanh, __builtin_atanhf(a))                                            \
  SOFTMETAL_FLOAT1(round, __builtin_roundf(a))                                            \
  SOFTMETAL_FLOAT1(fabs, __builtin_fabsf(a))                                              \
  SOFTMETAL_FLOAT1(abs, __builtin_fabsf(a))                                               \
  SOFTMETAL_FLOAT1(floor, __builtin_floorf(a))                                            \
  SOFTMETAL_FLOAT1(ceil, __builtin_ceilf(a))                                              \
  SOFTMETAL_FLOAT1(rint, __builtin_rintf(a))                                              \
  SOFTMETAL_FLOAT1(trunc, __builtin_truncf(a))                                            \
  SOFTMETAL_FLOAT2(atan2, __builtin_atan2f(a, b))                                         \
  SOFTMETAL_FLOAT2(pow, __builtin_powf(a, b))                                             \
  SOFTMETAL_FLOAT2(powr, __builtin_powf(a, b))                                            \
  SOFTMETAL_FLOAT2(fmod, __builtin_fmodf(a, b))                                           \
  SOFTMETAL_FLOAT2(fmin, __builtin_fminf(a, b))                                           \
  SOFTMETAL_FLOAT2(fmax, __builtin_fmaxf(a, b))                                           \
  SOFTMETAL_FLOAT2(min, __builtin_fminf(a, b))                                            \
  SOFTMETAL_FLOAT2(max, __builtin_fmaxf(a, b))                                            \
  SOFTMETAL_FLOAT3(clamp, fmin(fmax(a, b), c))

namespace precise {
SOFTMETAL_LIBRARY
}
namespace fast {
SOFTMETAL_LIBRARY
}
SOFTMETAL_LIBRARY
SOFTMETAL_FLOAT1(sign, a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a == 0.0f ? a : 0.0f)
SOFTMETAL_FLOAT1(fract, fmin(a - floor(a), 0x1.fffffep-1f))
SOFTMETAL_FLOAT1(saturate, fmin(fmax(a, 0.0f), 1.0f))
SOFTMETAL_FLOAT2(copysign, __builtin_copysignf(a, b))
SOFTMETAL_FLOAT2(step, b < a ? 0.0f : 1.0f)
SOFTMETAL_FLOAT3(fma, __builtin_fmaf(a, b, c))
SOFTMETAL_FLOAT3(mix, a + (b - a) * c)
inline float ldexp(float a, int n) { return __builtin_ldexpf(a, n); }

inline bool isnan(float a) { return __builtin_isnan(a); }
inline bool isinf(float a) { return __builtin_isinf(a); }
inline bool isfinite(float a) { return __builtin_isfinite(a); }
inline bool signbit(float a) { return __builtin_signbitf(a); }

template <class T>
inline T select(T a, T b, bool c) {
  return c ? b : a;
}
#define SOFTMETAL_DOT(T)                                                                  \
  inline T dot(T##2 a, T##2 b) { return a.x * b.x + a.y * b.y; }                          \
  inline T dot(T##3 a, T##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }              \
  inline T dot(T##4 a, T##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
SOFTMETAL_DOT(float)
SOFTMETAL_DOT(half)
#undef SOFTMETAL_DOT

}  // namespace metal

#endif
