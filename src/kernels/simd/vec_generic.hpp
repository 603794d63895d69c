// Four floats in plain C++, for machines without a kernel of their own.
#pragma once

#include <cstdint>

namespace treadle::kernels {
namespace {

struct Generic {
  struct Reg {
    float v[4];
  };
  static constexpr int kLanes = 4;
  template <typename F>
  static Reg map(F&& f) {
    return Reg{{f(0), f(1), f(2), f(3)}};
  }
  static Reg zero() { return set(0.0f); }
  static Reg set(float x) { return Reg{{x, x, x, x}}; }
  static Reg load(const float* p) { return Reg{{p[0], p[1], p[2], p[3]}}; }
  // The first n < kLanes values at p, the rest zero; reads nothing else.
  static Reg load_n(const float* p, std::int64_t n) {
    float v[kLanes] = {};
    for (std::int64_t i = 0; i < n; ++i) v[i] = p[i];
    return load(v);
  }
  static void store(float* p, const Reg& x) {
    for (int i = 0; i < 4; ++i) p[i] = x.v[i];
  }
  static Reg add(const Reg& x, const Reg& y) {
    return map([&](int i) { return x.v[i] + y.v[i]; });
  }
  static Reg sub(const Reg& x, const Reg& y) {
    return map([&](int i) { return x.v[i] - y.v[i]; });
  }
  static Reg mul(const Reg& x, const Reg& y) {
    return map([&](int i) { return x.v[i] * y.v[i]; });
  }
  // x y + z
  static Reg fma(const Reg& x, const Reg& y, const Reg& z) {
    return map([&](int i) { return x.v[i] * y.v[i] + z.v[i]; });
  }
  // lo or hi where x lies beyond; x where it is NaN.
  static Reg at_least(const Reg& lo, const Reg& x) {
    return map([&](int i) { return x.v[i] < lo.v[i] ? lo.v[i] : x.v[i]; });
  }
  static Reg at_most(const Reg& hi, const Reg& x) {
    return map([&](int i) { return x.v[i] > hi.v[i] ? hi.v[i] : x.v[i]; });
  }
  // y where x is below zero, else x.
  static Reg if_negative(const Reg& x, const Reg& y) {
    return map([&](int i) { return x.v[i] < 0.0f ? y.v[i] : x.v[i]; });
  }
};

}  // namespace
}  // namespace treadle::kernels
