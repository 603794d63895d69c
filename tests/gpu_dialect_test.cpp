// The functions of the kernel dialect, as the host has them.
#include "gpu/dialect/dialect.hpp"

#include <cstring>
#include <limits>
#include <random>

#include "gpu/prepared.hpp"
#include "gpu_util.hpp"

namespace treadle::gpu {
namespace {

TEST(GpuDialect, DivisionByPreparedDivisors) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> divisors = {1,     2,     3,     5,          7,         641,
                                         65535, 65536, 65537, 0x7ffffffe, 0x7fffffff};
  for (int i = 0; i < 200; ++i)
    divisors.push_back(static_cast<std::uint32_t>(random() >> (i % 31 + 1)) + 1);
  for (const std::uint32_t d : divisors) {
    const tk::tk_divisor prepared = make_divisor(d);
    std::vector<std::uint32_t> values = {0, 1, d - 1, d, d + 1, 2 * d - 1, 2 * d, 0x7fffffff};
    for (int i = 0; i < 50; ++i) values.push_back(static_cast<std::uint32_t>(random() >> 1));
    for (const std::uint32_t v : values) {
      if (v > 0x7fffffff) continue;
      const auto n = static_cast<int>(v);
      ASSERT_EQ(tk::tk_div(n, prepared), n / static_cast<int>(d)) << n << " / " << d;
      int rest = n;
      EXPECT_EQ(tk::tk_divmod(rest, prepared), n / static_cast<int>(d));
      EXPECT_EQ(rest, n % static_cast<int>(d));
    }
  }
}

TEST(GpuDialect, NaNPassesThroughMaxAndMin) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(tk::tk_max(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(tk::tk_max(1.0f, nan)));
  EXPECT_TRUE(std::isnan(tk::tk_min(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(tk::tk_min(1.0f, nan)));
  EXPECT_EQ(tk::tk_max(-2.0f, 3.0f), 3.0f);
  EXPECT_EQ(tk::tk_min(-2.0f, 3.0f), -2.0f);
  EXPECT_EQ(tk::tk_inf(), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(tk::tk_isnan(tk::tk_nan()));
}

TEST(GpuDialect, FunctionsOfTheDialectAgreeWithTheStandardLibrary) {
  for (float x = -6.0f; x <= 6.0f; x += 1.0f / 512) {
    const auto d = static_cast<double>(x);
    EXPECT_NEAR(tk::tk_erf_portable(x), std::erf(d), 6e-7) << x;
    EXPECT_NEAR(tk::tk_expm1(x), std::expm1(d), 4e-7 * std::abs(std::expm1(d))) << x;
    if (x > -1) {
      EXPECT_NEAR(tk::tk_log1p(x), std::log1p(d), 4e-7 * std::abs(std::log1p(d))) << x;
    }
  }
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(tk::tk_erf_portable(inf), 1.0f);
  EXPECT_EQ(tk::tk_erf_portable(-inf), -1.0f);
  EXPECT_TRUE(std::isnan(tk::tk_erf_portable(tk::tk_nan())));
  EXPECT_EQ(tk::tk_expm1(inf), inf);
  EXPECT_EQ(tk::tk_expm1(-inf), -1.0f);
  EXPECT_EQ(tk::tk_log1p(inf), inf);
  EXPECT_EQ(tk::tk_expm1(1e-20f), 1e-20f);
  EXPECT_EQ(tk::tk_log1p(-1e-20f), -1e-20f);
}

template <typename T, int V>
void check_vectors() {
  alignas(32) T in[16];
  alignas(32) T out[16];
  std::memset(out, 0, sizeof out);
  for (int i = 0; i < 16; ++i) tk::tk_store(in + i, static_cast<float>(i) * 0.25f - 1.0f);
  tk::tk_vec<V> v;
  tk::tk_load_vec(in + V, v);
  for (int i = 0; i < V; ++i) EXPECT_EQ(v.v[i], static_cast<float>(V + i) * 0.25f - 1.0f);
  tk::tk_store_vec(out + V, v);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(tk::tk_load(out + i), i >= V && i < 2 * V ? tk::tk_load(in + i) : 0.0f);
  }
}

TEST(GpuDialect, Vectors) {
  check_vectors<float, 1>();
  check_vectors<float, 2>();
  check_vectors<float, 4>();
  check_vectors<float, 8>();
  check_vectors<tk::tk_half, 1>();
  check_vectors<tk::tk_half, 2>();
  check_vectors<tk::tk_half, 4>();
  check_vectors<tk::tk_half, 8>();
  check_vectors<tk::tk_bf16, 2>();
  check_vectors<tk::tk_bf16, 4>();
  check_vectors<tk::tk_bf16, 8>();
}

TEST(GpuDialect, AnAccessThatIsNotAlignedIsFound) {
  alignas(16) float x[8] = {};
  tk::tk_vec<4> v;
  EXPECT_THROW(tk::tk_load_vec(x + 1, v), Error);
  EXPECT_NO_THROW(tk::tk_load_vec(x + 4, v));
}

TEST(GpuDialect, TheFirstReportOfAnIndexIsKept) {
  tk::tk_status status{};
  tk::tk_report_index(&status, -7, 5);
  tk::tk_report_index(&status, 9, 5);
  EXPECT_EQ(status.met, 1u);
  EXPECT_EQ(status.index, -7);
  EXPECT_EQ(status.limit, 5);
}

}  // namespace
}  // namespace treadle::gpu
