// The kernel dialect for the lint: clang's C++ for OpenCL with the generic address space switched
// off, which is as strict as Metal about the address space of every pointer. Compiled, never run.
#pragma once

#define TK_FN inline
#define TK_GLOBAL __global
#define TK_SHARED __local
#define TK_PARAM __constant const
#define TK_LOCAL __private
#define TK_CTX __private const tk::tk_ctx&
#define TK_BARRIER(c) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TK_UNROLL _Pragma("unroll")
#define TK_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define TK_CHECK_ALIGNED(pointer, bytes)

#define TK_IN(T) __global const T*
#define TK_OUT(T) __global T*
#define TK_STATUS __global tk::tk_status*
#define TK_DECLARE(i, type) type b##i,
#define TK_USE(i, type) b##i,
#define TK_KERNEL(name, body, args, Params, Shared, mode, threads, ...)                 \
  __kernel void name(TK_EACH(TK_DECLARE, __VA_ARGS__) __constant const tk::Params* p) { \
    static_assert(sizeof(tk::Shared) <= 32768, "Metal has 32 KiB");                     \
    __local tk::Shared s;                                                               \
    const tk::tk_ctx c = {uint3(0u), uint3(0u), uint3(1u), uint3(1u), 0u, 0u};          \
    tk::body<TK_UNWRAP args>(c, TK_EACH(TK_USE, __VA_ARGS__) * p, s);                   \
  }

namespace tk {

struct tk_ctx {
  uint3 tid, bid, bdim, gdim;
  tk_u32 lane, warp;
};
typedef uint2 tk_u32x2;
typedef uint4 tk_u32x4;

inline tk_u32 tk_bits(float v) {
  return as_uint(v);
}
inline float tk_float(tk_u32 v) {
  return as_float(v);
}
float tk_half_to_float(tk_u16 v);
tk_u16 tk_float_to_half(float v);
tk_u16 tk_float_to_bf16(float v);

inline float tk_fma(float a, float b, float c) {
  return fma(a, b, c);
}
inline float tk_clip(float v, float low, float high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}
#define TK_FUNCTION(name)           \
  inline float tk_##name(float v) { \
    return name(v);                 \
  }
TK_EACH_LIBRARY_FUNCTION(TK_FUNCTION)
TK_EACH_ROUNDING(TK_FUNCTION)
#undef TK_FUNCTION
inline float tk_erf(float v) {
  return erf(v);
}
inline float tk_pow(float a, float b) {
  return pow(a, b);
}
inline float tk_fmod(float a, float b) {
  return fmod(a, b);
}
inline tk_u32 tk_mulhi(tk_u32 a, tk_u32 b) {
  return mul_hi(a, b);
}

float tk_warp_xor(TK_CTX, float v, int mask);
tk_i32 tk_warp_xor(TK_CTX, tk_i32 v, int mask);
float tk_warp_get(TK_CTX, float v, int lane);
tk_i32 tk_warp_get(TK_CTX, tk_i32 v, int lane);
void tk_warp_barrier(TK_CTX);
inline void tk_keep(TK_LOCAL tk_i32&) {}
void tk_report_index(__global tk_status* status, tk_i64 index, tk_i64 limit);
void tk_async_copy16(__local void* to, __global const void* from, bool take);
void tk_async_commit();
template <int N>
void tk_async_wait();

}  // namespace tk

#define TK_WARP_TREES_IN_COMMON
#define TK_CLIP_HALVES_IN_COMMON
