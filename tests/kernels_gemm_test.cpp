#include "kernels/gemm/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/gemm/dot.hpp"
#include "kernels_util.hpp"

namespace treadle::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Operand {
  std::vector<float> data;
  std::ptrdiff_t rows = 0, columns = 0;  // strides
};

// A matrix in row-major (with gaps between rows) or column-major order.
Operand matrix(std::mt19937& random, std::int64_t m, std::int64_t n, bool transposed) {
  const std::ptrdiff_t gap = static_cast<std::ptrdiff_t>(random() % 4);
  if (transposed) return {random_floats(random, n * (m + gap)), 1, m + gap};
  return {random_floats(random, m * (n + gap)), n + gap, 1};
}

float at(const Operand& x, std::int64_t i, std::int64_t j) {
  return x.data[static_cast<std::size_t>(i * x.rows + j * x.columns)];
}

class Gemm : public IsaTest {};

struct Case {
  std::int64_t m = 1, n = 1, k = 1;
  bool a_transposed = false, b_transposed = false, accumulate = false;
  bool bias = false, residual = false, residual_before_act = false;
  Act act = Act::None;
};

void run_case(std::mt19937& random, const Case& t, Parallel& parallel) {
  SCOPED_TRACE(::testing::Message()
               << t.m << "x" << t.n << "x" << t.k << " act " << static_cast<int>(t.act));
  const Operand a = matrix(random, t.m, t.k, t.a_transposed);
  const Operand b = matrix(random, t.k, t.n, t.b_transposed);
  const Operand c = matrix(random, t.m, t.n, false), residual = matrix(random, t.m, t.n, false);
  const std::vector<float> bias = random_floats(random, t.n), slope = random_floats(random, t.n);
  std::vector<float> packed(packed_b_floats(t.k, t.n)), result = c.data;
  pack_b(b.data.data(), b.rows, b.columns, t.k, t.n, packed.data());
  GemmArgs g{.m = t.m,
             .n = t.n,
             .k = t.k,
             .a = a.data.data(),
             .lda = a.rows,
             .a_col_stride = a.columns,
             .packed_b = packed.data(),
             .c = result.data(),
             .ldc = c.rows,
             .epilogue = {},
             .accumulate = t.accumulate};
  g.epilogue.bias = t.bias ? bias.data() : nullptr;
  g.epilogue.residual = t.residual ? residual.data.data() : nullptr;
  g.epilogue.residual_stride = residual.rows;
  g.epilogue.residual_before_act = t.residual_before_act;
  g.epilogue.act = t.act;
  g.epilogue.a = t.act == Act::Clip ? -0.25f : 0.5f;
  g.epilogue.b = 0.5f;
  g.epilogue.slope = slope.data();
  std::vector<float> workspace(gemm_workspace_bytes(g, parallel.threads()) / sizeof(float));
  gemm(g, workspace.data(), parallel);
  std::vector<bool> written(result.size());
  for (std::int64_t i = 0; i < t.m; ++i) {
    for (std::int64_t j = 0; j < t.n; ++j) {
      double sum = 0, size = 1;
      const auto add = [&](double x) { sum += x, size += std::abs(x); };
      for (std::int64_t k = 0; k < t.k; ++k) add(double{at(a, i, k)} * at(b, k, j));
      const auto column = static_cast<std::size_t>(j);
      if (t.accumulate) add(at(c, i, j));
      if (t.bias) add(bias[column]);
      if (t.residual && t.residual_before_act) add(at(residual, i, j));
      double y =
          apply_act(t.act, static_cast<float>(sum), g.epilogue.a, g.epilogue.b, slope[column]);
      if (t.residual && !t.residual_before_act) y += at(residual, i, j);
      const auto index = static_cast<std::size_t>(i * c.rows + j);
      written[index] = true;
      ASSERT_NEAR(result[index], y, 1e-5 * size) << "at " << i << ", " << j;
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (written[i]) continue;
    ASSERT_EQ(result[i], c.data[i]) << "gap " << i << " was written";
  }
}

TEST_P(Gemm, AgreesWithPlainLoopsOnOddShapes) {
  std::mt19937 random(1);
  const auto pool = make_thread_pool(2);
  for (int i = 0; i < 400; ++i) {
    Case t;
    t.m = 1 + random() % 70;
    t.n = 1 + random() % 70;
    t.k = random() % 71;
    t.a_transposed = random() % 4 == 0;
    t.b_transposed = random() % 2 == 0;
    t.accumulate = random() % 3 == 0;
    t.bias = random() % 2 == 0;
    t.residual = random() % 3 == 0;
    t.residual_before_act = random() % 2 == 0;
    t.act = static_cast<Act>(random() % 12);
    run_case(random, t, i % 2 ? *pool : serial());
    if (HasFatalFailure()) return;
  }
}

TEST_P(Gemm, AgreesAcrossBlockBorders) {
  std::mt19937 random(2);
  const auto pool = make_thread_pool(3);
  const std::int64_t shapes[][3] = {{400, 33, 300}, {5, 70, 1200},   {130, 130, 700}, {1, 257, 900},
                                    {2, 65, 513},   {97, 200, 1024}, {800, 100, 40}};
  for (const auto& s : shapes) {
    for (bool transposed : {false, true}) {
      Case t;
      t.m = s[0];
      t.n = s[1];
      t.k = s[2];
      t.a_transposed = t.b_transposed = transposed;
      t.bias = t.residual = true;
      t.act = transposed ? Act::Tanh : Act::Relu;
      run_case(random, t, transposed ? *pool : serial());
      if (HasFatalFailure()) return;
    }
  }
}

// Models give their first guess among equals: equal columns must not differ by their place.
TEST_P(Gemm, ColumnsOfARowAreSummedInOneOrder) {
  std::mt19937 random(3);
  const std::int64_t n = 1000, k = 517;
  for (std::int64_t m = 1; m <= 9; ++m) {
    const std::vector<float> a = random_floats(random, m * k), column = random_floats(random, k);
    std::vector<float> packed(packed_b_floats(k, n)), c(static_cast<std::size_t>(m * n));
    pack_b(column.data(), 1, 0, k, n, packed.data());
    GemmArgs g{.m = m,
               .n = n,
               .k = k,
               .a = a.data(),
               .lda = k,
               .packed_b = packed.data(),
               .c = c.data(),
               .ldc = n,
               .epilogue = {}};
    std::vector<float> workspace(gemm_workspace_bytes(g, 1) / sizeof(float));
    gemm(g, workspace.data(), serial());
    for (std::size_t i = 0; i < c.size(); ++i) {
      ASSERT_EQ(c[i], c[i / n * n]) << m << " rows, element " << i;
    }
  }
}

TEST_P(Gemm, EmptySumGivesBias) {
  const float bias[3] = {1, -2, 3};
  float c[6] = {9, 9, 9, 9, 9, 9};
  GemmArgs g;
  g.m = 2;
  g.n = 3;
  g.c = c;
  g.ldc = 3;
  g.epilogue.bias = bias;
  g.epilogue.act = Act::Relu;
  gemm(g, nullptr, serial());
  const float expected[6] = {1, 0, 3, 1, 0, 3};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(c[i], expected[i]);
  g.m = 0;
  gemm(g, nullptr, serial());
}

TEST_P(Gemm, NanPassesThroughActivations) {
  for (std::int64_t n : {16, 3}) {
    for (int act = 0; act < 12; ++act) {
      std::vector<float> a = {kNan}, b(static_cast<std::size_t>(n), 1.0f);
      std::vector<float> packed(packed_b_floats(1, n)), c(static_cast<std::size_t>(n), 0.0f);
      pack_b(b.data(), n, 1, 1, n, packed.data());
      GemmArgs g;
      g.m = g.k = 1;
      g.n = n;
      g.a = a.data();
      g.lda = 1;
      g.packed_b = packed.data();
      g.c = c.data();
      g.ldc = n;
      g.epilogue.act = static_cast<Act>(act);
      g.epilogue.a = -1;
      g.epilogue.b = 1;
      g.epilogue.slope = b.data();
      gemm(g, nullptr, serial());
      for (float x : c) EXPECT_TRUE(std::isnan(x)) << "act " << act << " n " << n;
    }
  }
}

TEST_P(Gemm, Batched) {
  std::mt19937 random(3);
  const auto pool = make_thread_pool(2);
  for (int i = 0; i < 60; ++i) {
    BatchedGemmArgs g;
    g.batches = random() % 6;
    g.m = 1 + random() % 40;
    g.n = 1 + random() % 40;
    g.k = 1 + random() % 40;
    const bool shared = random() % 3 == 0, transposed = random() % 2 == 0;
    const auto a = random_floats(random, g.batches * g.m * g.k + 1);
    const auto b = random_floats(random, (g.batches + 1) * g.n * g.k);
    const auto r = random_floats(random, g.batches * g.m * g.n + 1);
    std::vector<float> c(r.size());
    g.a = a.data();
    g.lda = g.k;
    g.a_batch = g.m * g.k;
    g.b = b.data();
    g.b_row_stride = transposed ? 1 : g.n;
    g.b_col_stride = transposed ? g.k : 1;
    g.b_batch = shared ? 0 : g.k * g.n;
    g.c = c.data();
    g.ldc = g.n;
    g.c_batch = g.m * g.n;
    g.epilogue.residual = r.data();
    g.epilogue.residual_stride = g.n;
    g.residual_batch = g.c_batch;
    Parallel& parallel = i % 2 ? *pool : serial();
    std::vector<float> w(batched_gemm_workspace_bytes(g, parallel.threads()) / sizeof(float));
    batched_gemm(g, w.data(), parallel);
    for (std::int64_t n = 0; n < g.batches * g.m * g.n; ++n) {
      const std::int64_t batch = n / g.c_batch, row = n % g.c_batch / g.n, column = n % g.n;
      double sum = r[static_cast<std::size_t>(n)];
      for (std::int64_t k = 0; k < g.k; ++k) {
        sum += double{a[static_cast<std::size_t>(batch * g.a_batch + row * g.lda + k)]} *
               b[static_cast<std::size_t>(batch * g.b_batch + k * g.b_row_stride +
                                          column * g.b_col_stride)];
      }
      ASSERT_NEAR(c[static_cast<std::size_t>(n)], sum, 1e-5 * static_cast<double>(g.k + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Gemm, isas(), isa_name);

}  // namespace
}  // namespace treadle::kernels
