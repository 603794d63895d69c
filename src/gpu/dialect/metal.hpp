// The kernel dialect for Metal (MSL 2.4 and later, compiled without fast math). The text has no
// #include of its own: scripts/kernel_text.py strings the files together.
#pragma once

#include <metal_stdlib>
using namespace metal;

// Kernels say tk_fma where they mean one rounding.
#pragma METAL fp contract(off)

#define TK_FN inline
#define TK_GLOBAL device
#define TK_SHARED threadgroup
#define TK_PARAM constant const
#define TK_LOCAL thread
#define TK_CTX thread const tk::tk_ctx&
#define TK_BARRIER(c) threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)
#define TK_UNROLL _Pragma("unroll")
#define TK_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define TK_CHECK_ALIGNED(pointer, bytes)

#define TK_IN(T) device const T*
#define TK_OUT(T) device T*
#define TK_STATUS device tk::tk_status*
#define TK_DECLARE(i, type) type b##i [[buffer(i)]],
#define TK_USE(i, type) b##i,
#define TK_KERNEL(name, body, args, Params, Shared, mode, threads, ...)                         \
  [[kernel, max_total_threads_per_threadgroup(threads)]] void name(                             \
      TK_EACH(TK_DECLARE, __VA_ARGS__) constant const tk::Params& p [[buffer(10)]],             \
      uint3 tid [[thread_position_in_threadgroup]], uint3 bid [[threadgroup_position_in_grid]], \
      uint3 bdim [[threads_per_threadgroup]], uint3 gdim [[threadgroups_per_grid]],             \
      uint lane [[thread_index_in_simdgroup]], uint warp [[simdgroup_index_in_threadgroup]]) {  \
    static_assert(sizeof(tk::Shared) <= 32768, "Metal has 32 KiB");                             \
    threadgroup tk::Shared s;                                                                   \
    const tk::tk_ctx c = {tid, bid, bdim, gdim, lane, warp};                                    \
    tk::body<TK_UNWRAP args>(c, TK_EACH(TK_USE, __VA_ARGS__) p, s);                             \
  }

namespace tk {

struct tk_ctx {
  uint3 tid, bid, bdim, gdim;
  tk_u32 lane, warp;
};
typedef uint2 tk_u32x2;
typedef uint4 tk_u32x4;

inline tk_u32 tk_bits(float v) {
  return as_type<uint>(v);
}
inline float tk_float(tk_u32 v) {
  return as_type<float>(v);
}
inline float tk_half_to_float(tk_u16 v) {
  return float(as_type<half>(v));
}
inline tk_u16 tk_float_to_half(float v) {
  return as_type<ushort>(half(v));
}
inline tk_u16 tk_float_to_bf16(float v) {
  const uint b = as_type<uint>(v);
  if ((b & 0x7fffffffu) > 0x7f800000u) return ushort(0x7fc0);
  return ushort((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}

inline float tk_fma(float a, float b, float c) {
  return fma(a, b, c);
}
inline float tk_clip(float v, float low, float high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}
#define TK_FUNCTION(name)           \
  inline float tk_##name(float v) { \
    return precise::name(v);        \
  }
TK_EACH_LIBRARY_FUNCTION(TK_FUNCTION)
#undef TK_FUNCTION
#define TK_FUNCTION(name)           \
  inline float tk_##name(float v) { \
    return name(v);                 \
  }
TK_EACH_ROUNDING(TK_FUNCTION)
#undef TK_FUNCTION
inline float tk_pow(float a, float b) {
  return precise::pow(a, b);
}
inline float tk_fmod(float a, float b) {
  return precise::fmod(a, b);
}
inline tk_u32 tk_mulhi(tk_u32 a, tk_u32 b) {
  return mulhi(a, b);
}

inline float tk_warp_xor(TK_CTX, float v, int mask) {
  return simd_shuffle_xor(v, ushort(mask));
}
inline tk_i32 tk_warp_xor(TK_CTX, tk_i32 v, int mask) {
  return simd_shuffle_xor(v, ushort(mask));
}
inline float tk_warp_get(TK_CTX, float v, int lane) {
  return simd_shuffle(v, ushort(lane));
}
inline tk_i32 tk_warp_get(TK_CTX, tk_i32 v, int lane) {
  return simd_shuffle(v, ushort(lane));
}

inline void tk_warp_barrier(TK_CTX) {
  simdgroup_barrier(mem_flags::mem_threadgroup);
}

inline void tk_keep(TK_LOCAL tk_i32&) {}

inline void tk_report_index(device tk_status* status, tk_i64 index, tk_i64 limit) {
  if (atomic_exchange_explicit((device atomic_uint*)&status->met, 1u, memory_order_relaxed) == 0u) {
    status->index = index;
    status->limit = limit;
  }
}

inline void tk_async_copy16(threadgroup void* to, device const void* from, bool take) {
  *(threadgroup uint4*)to = take ? *(device const uint4*)from : uint4(0u);
}
inline void tk_async_commit() {}
template <int N>
inline void tk_async_wait() {}

}  // namespace tk

// Metal's own kernels (gpu/metal/own.inc) and products by simdgroup matrices rather than the portable
// way.
#ifndef TK_PORTABLE
#define TK_OWN_KERNELS
#endif
#define TK_WARP_TREES_IN_COMMON
#define TK_CLIP_HALVES_IN_COMMON
#define TK_ERF_IN_COMMON
