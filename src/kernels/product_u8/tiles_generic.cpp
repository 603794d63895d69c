#include <cmath>

#include "kernels/product_u8/tile-inl.hpp"

namespace treadle::kernels::generic {
namespace {

struct Plain {
  static constexpr int kLanes = 8;
  template <typename T>
  struct Lanes {
    T v[kLanes];
  };
  using Reg = Lanes<std::int32_t>;
  using Floats = Lanes<float>;
  // Values 0 to 3 of the quads, each over the lanes.
  struct Weights {
    std::int16_t v[4][kLanes];
  };
  struct Values {
    std::int16_t v[4];
  };

  template <typename T, typename F>
  static Lanes<T> each(F&& f) {
    Lanes<T> out;
    for (int i = 0; i < kLanes; ++i) out.v[i] = f(i);
    return out;
  }
  static Reg load(const std::int32_t* p) {
    return each<std::int32_t>([&](int i) { return p[i]; });
  }
  static Reg all(std::int32_t v) {
    return each<std::int32_t>([&](int) { return v; });
  }
  static Floats all(float v) {
    return each<float>([&](int) { return v; });
  }
  static std::int32_t sum_of(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
  static Reg add(Reg a, Reg b) {
    return each<std::int32_t>([&](int i) { return sum_of(a.v[i], b.v[i]); });
  }
  static Weights weights(const std::int8_t* p) {
    Weights w;
    for (int i = 0; i < kLanes; ++i) {
      for (int q = 0; q < 4; ++q) w.v[q][i] = p[4 * i + q];
    }
    return w;
  }
  static Values values(std::uint32_t quad, Reg flip) {
    const std::uint32_t bytes = quad ^ static_cast<std::uint32_t>(flip.v[0]);
    Values x;
    for (int q = 0; q < 4; ++q) x.v[q] = static_cast<std::int16_t>(bytes >> 8 * q & 255);
    return x;
  }
  static Reg dot(Reg sum, Values x, Weights w) {
    for (int q = 0; q < 4; ++q) {
      for (int i = 0; i < kLanes; ++i) sum.v[i] = sum_of(sum.v[i], x.v[q] * w.v[q][i]);
    }
    return sum;
  }
  static Reg widened(const std::uint8_t* p, Reg flip) {
    return each<std::int32_t>([&](int i) { return p[i] ^ flip.v[i]; });
  }
  static Reg multiplied(Reg sum, Reg x, Reg w) {
    return each<std::int32_t>([&](int i) { return sum_of(sum.v[i], x.v[i] * w.v[i]); });
  }
  static Floats scaled(Reg sum, const float* factor) {
    return each<float>([&](int i) { return static_cast<float>(sum.v[i]) * factor[i]; });
  }
  static Floats clamp(Floats x, Floats low, Floats high) {
    return each<float>([&](int i) {
      const float y = x.v[i] > low.v[i] ? x.v[i] : low.v[i];
      return y < high.v[i] ? y : high.v[i];
    });
  }
  static Lanes<std::uint8_t> rounded(Floats x, Reg zero) {
    return each<std::uint8_t>([&](int i) {
      return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(x.v[i])) +
                                       zero.v[i]);
    });
  }
  template <typename T>
  static void store(T* p, Lanes<T> x) {
    for (int i = 0; i < kLanes; ++i) p[i] = x.v[i];
  }
};

}  // namespace

KernelsU8 tiles_u8() {
  KernelsU8 k{.name = "u8s8_4x8_generic", .lanes = Plain::kLanes, .main_vectors = 1};
  add_tiles_u8<Plain, 1, 4>(k);
  add_depthwise_u8<Plain, 4>(k);
  return k;
}

}  // namespace treadle::kernels::generic
