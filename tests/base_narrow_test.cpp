#include "base/narrow.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace treadle {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const NarrowRounding kKeep{false, PowerRounding::Nearest};

// Largest and smallest number, and how many of the codes are numbers: from the OCP specifications
// and arXiv:2206.02915.
struct Known {
  DType type;
  float largest, smallest;
  int finite;
};
const std::vector<Known> kKnown = {
    {DType::F8E4M3FN, 448, 0x1p-9f, 254},  {DType::F8E4M3FNUZ, 240, 0x1p-10f, 255},
    {DType::F8E5M2, 57344, 0x1p-16f, 248}, {DType::F8E5M2FNUZ, 57344, 0x1p-17f, 255},
    {DType::F6E2M3, 7.5f, 0.125f, 64},     {DType::F6E3M2, 28, 0.0625f, 64},
    {DType::F4E2M1, 6, 0.5f, 16},
};

// The number of distinct codes of a type.
unsigned codes_of(DType t) {
  return 1u << bits_of_narrow(t);
}

TEST(Narrow, ValuesAreThoseOfTheStandards) {
  for (const Known& k : kKnown) {
    const auto& values = narrow_values(k.type);
    float largest = 0, smallest = kInf;
    int finite = 0;
    for (unsigned c = 0; c < codes_of(k.type); ++c) {
      if (!std::isfinite(values[c])) continue;
      ++finite;
      largest = std::max(largest, values[c]);
      if (values[c] > 0) smallest = std::min(smallest, values[c]);
    }
    EXPECT_EQ(largest, k.largest) << name_of(k.type);
    EXPECT_EQ(smallest, k.smallest) << name_of(k.type);
    EXPECT_EQ(finite, k.finite) << name_of(k.type);
  }
  EXPECT_EQ(narrow_values(DType::F8E5M2)[0x7c], kInf);
  EXPECT_TRUE(std::isnan(narrow_values(DType::F8E4M3FN)[0xff]));
  EXPECT_TRUE(std::isnan(narrow_values(DType::F8E4M3FNUZ)[0x80]));
}

TEST(Narrow, EachNumberKeepsItsCode) {
  for (const Known& k : kKnown) {
    for (unsigned c = 0; c < codes_of(k.type); ++c) {
      const float v = narrow_values(k.type)[c];
      if (!std::isfinite(v)) continue;
      EXPECT_EQ(narrow_code(k.type, v, {}), c) << name_of(k.type);
    }
  }
}

// The nearest number by looking at all of them; of two as near, the one with the even code.
unsigned nearest(DType t, float v) {
  const auto& values = narrow_values(t);
  unsigned best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned c = 0; c < codes_of(t); ++c) {
    if (!std::isfinite(values[c]) || std::signbit(values[c]) != std::signbit(v)) continue;
    const double d = std::fabs(static_cast<double>(values[c]) - static_cast<double>(v));
    if (d > least || (d == least && c % 2 == 1)) continue;
    least = d;
    best = c;
  }
  return best;
}

TEST(Narrow, RoundsToTheNearestTiesToEven) {
  std::mt19937 random(7);
  for (const Known& k : kKnown) {
    std::vector<float> tried;
    std::uniform_real_distribution<float> exponent(-20, 18);
    for (int i = 0; i < 2000; ++i) {
      const float v = std::exp2(exponent(random));
      tried.insert(tried.end(), {v, -v});
    }
    // Half way between neighbours.
    for (unsigned c = 0; c + 1 < codes_of(k.type) / 2; ++c) {
      const float a = narrow_values(k.type)[c], b = narrow_values(k.type)[c + 1];
      if (std::isfinite(a) && std::isfinite(b)) tried.push_back((a + b) / 2);
    }
    for (const float v : tried) {
      const unsigned code = narrow_code(k.type, v, {});
      const bool zero = narrow_values(k.type)[code] == 0.0f;
      if (zero && std::signbit(v)) {
        EXPECT_EQ(narrow_values(k.type)[nearest(k.type, -v)], 0.0f) << name_of(k.type) << " " << v;
      } else {
        EXPECT_EQ(code, nearest(k.type, v)) << name_of(k.type) << " " << v;
      }
    }
  }
}

// The tables of ONNX Cast.
TEST(Narrow, OutOfRange) {
  const auto value = [](DType t, float v, const NarrowRounding& r) {
    return narrow_values(t)[narrow_code(t, v, r)];
  };
  for (const Known& k : kKnown) {
    for (const float v : {kInf, 1e9f}) {
      EXPECT_EQ(value(k.type, v, {}), k.largest) << name_of(k.type);
      EXPECT_EQ(value(k.type, -v, {}), -k.largest) << name_of(k.type);
    }
  }
  for (const float v : {kInf, 1e9f}) {
    EXPECT_EQ(value(DType::F8E5M2, v, kKeep), kInf);
    EXPECT_EQ(value(DType::F8E5M2, -v, kKeep), -kInf);
    for (const DType t : {DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2FNUZ})
      EXPECT_TRUE(std::isnan(value(t, v, kKeep)) && std::isnan(value(t, -v, kKeep)));
  }
  for (const DType t : {DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ})
    EXPECT_TRUE(std::isnan(value(t, kNan, {})) && std::isnan(value(t, kNan, kKeep)));
  EXPECT_EQ(narrow_code(DType::F8E4M3FN, -0.0f, {}), 0x80);
  EXPECT_EQ(narrow_code(DType::F8E4M3FNUZ, -0.0f, {}), 0);
  // 464 lies half way to what would be 480, whose code is NaN: to even is 448.
  EXPECT_EQ(value(DType::F8E4M3FN, 464, kKeep), 448);
  EXPECT_TRUE(std::isnan(value(DType::F8E4M3FN, 465, kKeep)));
}

TEST(Narrow, PowersOfTwo) {
  const auto code = [](float v, PowerRounding p, bool saturate = true) {
    return int{narrow_code(DType::F8E8M0, v, {saturate, p})};
  };
  using enum PowerRounding;
  EXPECT_EQ(code(1, Up), 127);
  EXPECT_EQ(code(1.1f, Up), 128);
  EXPECT_EQ(code(1.9f, Down), 127);
  EXPECT_EQ(code(1.49f, Nearest), 127);
  EXPECT_EQ(code(1.5f, Nearest), 128);
  EXPECT_EQ(code(0, Up), 0);
  EXPECT_EQ(code(0, Nearest, false), 0xff);
  EXPECT_EQ(code(kInf, Up), 0xfe);
  EXPECT_EQ(code(kInf, Nearest, false), 0xff);
  EXPECT_EQ(code(0x1.8p127f, Up), 0xfe);
  EXPECT_EQ(code(0x1.8p127f, Nearest, false), 0xff);
  EXPECT_EQ(code(kNan, Up), 0xff);
  EXPECT_EQ(code(0x1p-127f, Nearest), 0);
  EXPECT_EQ(code(0x1.8p-127f, Down), 0);
  EXPECT_EQ(code(0x1.8p-127f, Up), 1);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(narrow_values(DType::F8E8M0)[0]), 0x00400000u);
  EXPECT_EQ(narrow_values(DType::F8E8M0)[254], 0x1p127f);
}

TEST(Narrow, IntegersWrapAndExtendTheirSign) {
  EXPECT_EQ(static_cast<std::int8_t>(wrap_narrow(DType::I4, 9)), -7);
  EXPECT_EQ(wrap_narrow(DType::U4, 0x19), 9);
  EXPECT_EQ(static_cast<std::int8_t>(wrap_narrow(DType::I2, static_cast<std::uint64_t>(-2))), -2);
  EXPECT_EQ(wrap_narrow(DType::U2, 7), 3);
  EXPECT_EQ(narrow_min(DType::I4), -8);
  EXPECT_EQ(narrow_max(DType::I4), 7);
  EXPECT_EQ(narrow_min(DType::U2), 0);
  EXPECT_EQ(narrow_max(DType::U2), 3);
}

}  // namespace
}  // namespace treadle
