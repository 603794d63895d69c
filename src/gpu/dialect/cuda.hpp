// The kernel dialect for CUDA (nvcc with -fmad=false).
#pragma once

#define TK_FN __device__ __forceinline__
#define TK_GLOBAL
#define TK_SHARED
#define TK_PARAM const
#define TK_LOCAL
#define TK_CTX const tk::tk_ctx&
#define TK_BARRIER(c) __syncthreads()
#define TK_UNROLL _Pragma("unroll")
#define TK_NO_UNROLL _Pragma("unroll 1")
#define TK_CHECK_ALIGNED(pointer, bytes)

#define TK_IN(T) const T* __restrict__
#define TK_OUT(T) T* __restrict__
#define TK_STATUS tk::tk_status*
#define TK_DECLARE(i, type) type b##i,
#define TK_USE(i, type) b##i,
#define TK_KERNEL(name, body, args, Params, Shared, mode, threads, ...)                        \
  extern "C" __global__ void __launch_bounds__(threads, 1)                                     \
      name(TK_EACH(TK_DECLARE, __VA_ARGS__) const __grid_constant__ tk::Params p) {            \
    static_assert(sizeof(tk::Shared) <= 32768, "Metal has 32 KiB");                            \
    __shared__ tk::Shared s;                                                                   \
    tk::tk_wait_for_previous();                                                                \
    const unsigned flat = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); \
    const tk::tk_ctx c = {threadIdx,                                                           \
                          blockIdx,                                                            \
                          {blockDim.x, blockDim.y, blockDim.z},                                \
                          {gridDim.x, gridDim.y, gridDim.z},                                   \
                          flat & 31,                                                           \
                          flat >> 5};                                                          \
    tk::body<TK_UNWRAP args>(c, TK_EACH(TK_USE, __VA_ARGS__) p, s);                            \
  }

namespace tk {

// The queue may launch a kernel before the one ahead of it has ended (programmatic dependent launch,
// CUDA C++ Programming Guide): the way to a running kernel then costs little time of its own. The
// first thing a kernel does is to wait until all work of the one before has ended and is visible, so
// a kernel that has ended has all before it behind it. The next one may come when the groups of this
// one have ended: earlier (griddepcontrol.launch_dependents) its groups are put where there is room,
// unevenly, and Inception v3 takes a fifth longer.
TK_FN void tk_wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct tk_ctx {
  uint3 tid, bid, bdim, gdim;
  tk_u32 lane, warp;
};
typedef uint2 tk_u32x2;
typedef uint4 tk_u32x4;

TK_FN tk_u32 tk_bits(float v) {
  return __float_as_uint(v);
}
TK_FN float tk_float(tk_u32 v) {
  return __uint_as_float(v);
}
TK_FN float tk_half_to_float(tk_u16 v) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v));
  return f;
}
TK_FN tk_u16 tk_float_to_half(float v) {
  tk_u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
  return h;
}
TK_FN tk_u16 tk_float_to_bf16(float v) {
  tk_u16 h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(v));
  return h;
}

TK_FN float tk_fma(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
TK_FN float tk_clip(float v, float low, float high) {
  asm("max.NaN.f32 %0, %0, %1;\n\tmin.NaN.f32 %0, %0, %2;" : "+f"(v) : "f"(low), "f"(high));
  return v;
}
TK_FN tk_u32 tk_clip_halves(tk_u32 pair, tk_u32 low, tk_u32 high) {
  asm("max.NaN.f16x2 %0, %0, %1;\n\tmin.NaN.f16x2 %0, %0, %2;" : "+r"(pair) : "r"(low), "r"(high));
  return pair;
}
#define TK_FUNCTION(name)          \
  TK_FN float tk_##name(float v) { \
    return name##f(v);             \
  }
TK_EACH_LIBRARY_FUNCTION(TK_FUNCTION)
TK_EACH_ROUNDING(TK_FUNCTION)
#undef TK_FUNCTION
TK_FN float tk_erf(float v) {
  return erff(v);
}
TK_FN float tk_pow(float a, float b) {
  return powf(a, b);
}
TK_FN float tk_fmod(float a, float b) {
  return fmodf(a, b);
}
TK_FN tk_u32 tk_mulhi(tk_u32 a, tk_u32 b) {
  return __umulhi(a, b);
}

TK_FN float tk_warp_xor(TK_CTX, float v, int mask) {
  return __shfl_xor_sync(~0u, v, mask);
}
TK_FN tk_i32 tk_warp_xor(TK_CTX, tk_i32 v, int mask) {
  return __shfl_xor_sync(~0u, v, mask);
}
TK_FN float tk_warp_get(TK_CTX, float v, int lane) {
  return __shfl_sync(~0u, v, lane);
}
TK_FN tk_i32 tk_warp_get(TK_CTX, tk_i32 v, int lane) {
  return __shfl_sync(~0u, v, lane);
}

TK_FN void tk_warp_barrier(TK_CTX) {
  __syncwarp();
}

TK_FN void tk_keep(tk_i32& v) {
  asm volatile("" : "+r"(v));
}

TK_FN void tk_report_index(tk_status* status, tk_i64 index, tk_i64 limit) {
  if (atomicCAS(&status->met, 0u, 1u) == 0u) {
    status->index = index;
    status->limit = limit;
  }
}

TK_FN void tk_async_copy16(void* to, const void* from, bool take) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<tk_u32>(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from)), "r"(take ? 16 : 0)
               : "memory");
}
TK_FN void tk_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N>
TK_FN void tk_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

}  // namespace tk

#define TK_WARP_TREES_IN_COMMON
