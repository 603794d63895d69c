// Functions of integers of the metal_stdlib stand-in.
#pragma clang system_header
#ifndef SOFTMETAL_INTEGER
#define SOFTMETAL_INTEGER

#include "common.h"

namespace metal {

#define SOFTMETAL_INTEGER_OF(T)                                                    \
  inline T min(T a, T b) { return a < b ? a : b; }                                 \
  inline T max(T a, T b) { return a > b ? a : b; }                                 \
  inline T clamp(T a, T low, T high) { return min(max(a, low), high); }            \
  inline T popcount(T a) {                                                         \
    return T(__builtin_popcountl(ulong(a) & (~0ul >> (64 - 8 * sizeof(T)))));      \
  }                                                                                \
  inline T clz(T a) {                                                              \
    const ulong v = ulong(a) & (~0ul >> (64 - 8 * sizeof(T)));                     \
    return T(v == 0 ? 8 * sizeof(T) : __builtin_clzl(v) - (64 - 8 * sizeof(T)));   \
  }                                                                                \
  inline T ctz(T a) { return T(a == 0 ? 8 * sizeof(T) : __builtin_ctzl(ulong(a))); }
SOFTMETAL_INTEGER_OF(char)
SOFTMETAL_INTEGER_OF(uchar)
SOFTMETAL_INTEGER_OF(short)
SOFTMETAL_INTEGER_OF(ushort)
SOFTMETAL_INTEGER_OF(int)
SOFTMETAL_INTEGER_OF(uint)
SOFTMETAL_INTEGER_OF(long)
SOFTMETAL_INTEGER_OF(ulong)
#undef SOFTMETAL_INTEGER_OF

inline int abs(int a) { return a < 0 ? -a : a; }
inline int mulhi(int a, int b) { return int((long(a) * long(b)) >> 32); }
inline uint mulhi(uint a, uint b) { return uint((ulong(a) * ulong(b)) >> 32); }
inline int mul24(int a, int b) { return a * b; }
inline uint absdiff(int a, int b) { return a > b ? uint(a) - uint(b) : uint(b) - uint(a); }
inline uint absdiff(uint a, uint b) { return a > b ? a - b : b - a; }
inline uint rotate(uint a, uint n) { return (a << (n & 31u)) | (a >> ((32u - n) & 31u)); }
inline uint reverse_bits(uint a) { return __builtin_bitreverse32(a); }
inline uint extract_bits(uint a, uint offset, uint bits) {
  return bits == 0u ? 0u : (a << (32u - bits - offset)) >> (32u - bits);
}

}  // namespace metal

#endif
