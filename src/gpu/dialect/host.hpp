// The kernel dialect for the host compiler: kernels of the sim device (gpu/sim).
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <source_location>

#include "base/half.hpp"
#include "gpu/sim/fiber_api.hpp"

#define TK_FN inline
#define TK_GLOBAL
#define TK_SHARED
#define TK_PARAM const
#define TK_LOCAL
#define TK_CTX const tk::tk_ctx&
#define TK_BARRIER(c) ((void)(c), treadle::gpu::sim::barrier(std::source_location::current()))
#define TK_UNROLL
#define TK_NO_UNROLL
#define TK_CHECK_ALIGNED(pointer, bytes) treadle::gpu::sim::check_aligned(pointer, bytes)

#define TK_IN(T) const T*
#define TK_OUT(T) T*
#define TK_STATUS tk::tk_status*
#define TK_USE(i, type) static_cast<type>(a.buffers[i]),
#define TK_KERNEL(name, body, args, Params, Shared, mode, threads, ...)             \
  namespace treadle::gpu::sim {                                                     \
  static void thread_##name(const tk::tk_ctx& c, const KernelArguments& a) {        \
    tk::body<TK_UNWRAP args>(                                                       \
        c, TK_EACH(TK_USE, __VA_ARGS__) * static_cast<const tk::Params*>(a.params), \
        *static_cast<tk::Shared*>(a.shared));                                       \
  }                                                                                 \
  static void group_##name(tk::tk_ctx c, const KernelArguments& a) {                \
    tk::tk_u32 flat = 0;                                                            \
    for (c.tid.z = 0; c.tid.z < c.bdim.z; ++c.tid.z)                                \
      for (c.tid.y = 0; c.tid.y < c.bdim.y; ++c.tid.y)                              \
        for (c.tid.x = 0; c.tid.x < c.bdim.x; ++c.tid.x, ++flat) {                  \
          c.lane = flat & 31u;                                                      \
          c.warp = flat >> 5;                                                       \
          thread_##name(c, a);                                                      \
        }                                                                           \
  }                                                                                 \
  extern const SimKernel kernel_##name;                                             \
  const SimKernel kernel_##name = {&thread_##name, &group_##name};                  \
  }

namespace tk {

struct tk_uint3 {
  tk_u32 x, y, z;
};
struct tk_ctx {
  tk_uint3 tid, bid, bdim, gdim;
  tk_u32 lane, warp;
};
// They read and write what other code wrote as another type, as vectors do on a device.
struct [[gnu::may_alias]] alignas(8) tk_u32x2 {
  tk_u32 x, y;
};
struct [[gnu::may_alias]] alignas(16) tk_u32x4 {
  tk_u32 x, y, z, w;
};

inline tk_u32 tk_bits(float v) {
  return std::bit_cast<tk_u32>(v);
}
inline float tk_float(tk_u32 v) {
  return std::bit_cast<float>(v);
}
inline float tk_half_to_float(tk_u16 v) {
  return treadle::f16_to_f32(v);
}
inline tk_u16 tk_float_to_half(float v) {
  return treadle::f32_to_f16(v);
}
inline tk_u16 tk_float_to_bf16(float v) {
  return treadle::f32_to_bf16(v);
}

inline float tk_fma(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float tk_clip(float v, float low, float high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}
// rint in the current mode, which is to nearest even.
#define TK_FUNCTION(name)           \
  inline float tk_##name(float v) { \
    return std::name(v);            \
  }
TK_EACH_LIBRARY_FUNCTION(TK_FUNCTION)
TK_EACH_ROUNDING(TK_FUNCTION)
#undef TK_FUNCTION
inline float tk_erf(float v) {
  return std::erf(v);
}
inline float tk_pow(float a, float b) {
  return std::pow(a, b);
}
inline float tk_fmod(float a, float b) {
  return std::fmod(a, b);
}
inline tk_u32 tk_mulhi(tk_u32 a, tk_u32 b) {
  return static_cast<tk_u32>((static_cast<tk_u64>(a) * b) >> 32);
}

using tk_site = std::source_location;
inline float tk_warp_xor(TK_CTX c, float v, int mask, tk_site at = tk_site::current()) {
  const auto all = treadle::gpu::sim::exchange(tk_bits(v), at);
  return tk_float(all[(static_cast<int>(c.lane) ^ mask) & 31]);
}
inline tk_i32 tk_warp_xor(TK_CTX c, tk_i32 v, int mask, tk_site at = tk_site::current()) {
  const auto all = treadle::gpu::sim::exchange(static_cast<tk_u32>(v), at);
  return static_cast<tk_i32>(all[(static_cast<int>(c.lane) ^ mask) & 31]);
}
inline float tk_warp_get(TK_CTX, float v, int lane, tk_site at = tk_site::current()) {
  return tk_float(treadle::gpu::sim::exchange(tk_bits(v), at)[lane & 31]);
}
inline tk_i32 tk_warp_get(TK_CTX, tk_i32 v, int lane, tk_site at = tk_site::current()) {
  return static_cast<tk_i32>(treadle::gpu::sim::exchange(static_cast<tk_u32>(v), at)[lane & 31]);
}

// What the exchanges of an xor tree give lane 0, and with it every lane, in one exchange.
template <typename F>
float tk_warp_tree(float v, tk_site at, F combine) {
  auto all = treadle::gpu::sim::exchange(tk_bits(v), at);
  for (int step = 16; step > 0; step >>= 1) {
    for (int i = 0; i < step; ++i) {
      all[i] = tk_bits(combine(tk_float(all[i]), tk_float(all[i + step])));
    }
  }
  return tk_float(all[0]);
}
inline float tk_warp_sum(TK_CTX, float v, tk_site at = tk_site::current()) {
  return tk_warp_tree(v, at, [](float a, float b) { return a + b; });
}
inline float tk_warp_max(TK_CTX, float v, tk_site at = tk_site::current()) {
  return tk_warp_tree(v, at, [](float a, float b) { return a > b || a != a ? a : b; });
}
inline float tk_warp_min(TK_CTX, float v, tk_site at = tk_site::current()) {
  return tk_warp_tree(v, at, [](float a, float b) { return a < b || a != a ? a : b; });
}

inline void tk_warp_barrier(TK_CTX, tk_site at = tk_site::current()) {
  treadle::gpu::sim::exchange(0, at);
}

inline void tk_keep(TK_LOCAL tk_i32&) {}

inline void tk_report_index(tk_status* status, tk_i64 index, tk_i64 limit) {
  if (std::atomic_ref<tk_u32>(status->met).exchange(1, std::memory_order_relaxed) == 0) {
    status->index = index;
    status->limit = limit;
  }
}

inline void tk_async_copy16(void* to, const void* from, bool take) {
  treadle::gpu::sim::async_copy16(to, from, take);
}
inline void tk_async_commit() {
  treadle::gpu::sim::async_commit();
}
template <int N>
inline void tk_async_wait() {
  treadle::gpu::sim::async_wait(N);
}

}  // namespace tk

#define TK_CLIP_HALVES_IN_COMMON
