// Four floats in a NEON register (AArch64).
#pragma once

#if defined(__ARM_NEON)

#include <arm_neon.h>

#include <cstdint>

namespace treadle::kernels {
namespace {

struct Neon {
  using Reg = float32x4_t;
  static constexpr int kLanes = 4;
  static Reg zero() { return vdupq_n_f32(0.0f); }
  static Reg set(float x) { return vdupq_n_f32(x); }
  static Reg load(const float* p) { return vld1q_f32(p); }
  // The first n < kLanes values at p, the rest zero; reads nothing else.
  static Reg load_n(const float* p, std::int64_t n) {
    float v[kLanes] = {};
    for (std::int64_t i = 0; i < n; ++i) v[i] = p[i];
    return load(v);
  }
  static void store(float* p, Reg x) { vst1q_f32(p, x); }
  static Reg add(Reg x, Reg y) { return vaddq_f32(x, y); }
  static Reg sub(Reg x, Reg y) { return vsubq_f32(x, y); }
  static Reg mul(Reg x, Reg y) { return vmulq_f32(x, y); }
  // x y + z
  static Reg fma(Reg x, Reg y, Reg z) { return vfmaq_f32(z, x, y); }
  // lo or hi where x lies beyond; x where it is NaN.
  static Reg at_least(Reg lo, Reg x) { return vbslq_f32(vcltq_f32(x, lo), lo, x); }
  static Reg at_most(Reg hi, Reg x) { return vbslq_f32(vcgtq_f32(x, hi), hi, x); }
  // y where x is below zero, else x.
  static Reg if_negative(Reg x, Reg y) { return vbslq_f32(vcltzq_f32(x), y, x); }
};

}  // namespace
}  // namespace treadle::kernels

#endif
