// What the tests of kernels share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/cpu_features.hpp"
#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

// Between -1 and 1.
inline std::vector<float> random_floats(std::mt19937& random, std::int64_t n) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = uniform(random);
  return v;
}

// Between low and high, both included.
inline std::int64_t pick(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

// Runs every test once for each instruction set that this machine has.
class IsaTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() != Isa::Generic && GetParam() > detected_isa()) GTEST_SKIP();
    if (!dot_kernels_for(GetParam())) GTEST_SKIP();
    cap_isa(GetParam());
    ASSERT_EQ(dot_kernels().isa, GetParam());
  }
  void TearDown() override { cap_isa(detected_isa()); }
};

// For INSTANTIATE_TEST_SUITE_P.
inline auto isas() {
  return ::testing::Values(Isa::Generic, Isa::Avx2, Isa::Avx512, Isa::Neon);
}
inline std::string isa_name(const ::testing::TestParamInfo<Isa>& i) {
  return std::string(name_of(i.param));
}

}  // namespace treadle::kernels
