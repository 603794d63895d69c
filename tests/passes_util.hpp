// What the tests of passes share: random tensors, comparison of a graph before and after.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "graph/evaluate.hpp"
#include "ops/build.hpp"
#include "passes/rule.hpp"
#include "passes/simplify.hpp"

namespace treadle::passes_test {

inline Tensor random_f32(std::uint32_t seed, const Shape& shape, float low = -2, float high = 2) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> d(low, high);
  Tensor t(DType::F32, shape);
  for (float& v : t.mutable_span<float>()) v = d(rng);
  return t;
}

inline ValueId source(Graph& g, const std::string& name, const SymShape& shape,
                      DType dtype = DType::F32) {
  return g.add_source(name, Fact::tensor(dtype, shape));
}

// Live nodes of a kind that the outputs need.
inline int count(const Graph& g, std::string_view kind) {
  int n = 0;
  for (const NodeId id : g.order()) n += g.node(id).op->name() == kind;
  return n;
}

// One random tensor an input; symbols become 2.
inline std::vector<Value> random_inputs(const Graph& g, std::uint32_t seed) {
  std::vector<Value> inputs;
  for (const ValueId v : g.inputs()) {
    Shape shape;
    for (const Dim& d : g.fact(v).shape) shape.push_back(d.as_const().value_or(2));
    inputs.emplace_back(random_f32(seed++, shape));
  }
  return inputs;
}

inline void expect_close(const Tensor& got, const Tensor& want, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape().str(), want.shape().str()) << what;
  if (!is_float(want.dtype())) {
    EXPECT_TRUE(got.identical(want)) << what;
    return;
  }
  const auto a = got.to_f64(), b = want.to_f64();
  double largest = 1;
  for (const double v : b) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) || std::isinf(b[i])) {
      EXPECT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]) << what << " at " << i;
      continue;
    }
    ASSERT_NEAR(a[i], b[i], tolerance * largest) << what << " at " << i;
  }
}

// Simplifies g and checks that it still gives the answers, names and facts that it gave.
inline SimplifyReport check_simplify(Graph& g, const SimplifyOptions& options = {},
                                     double tolerance = 2e-5, std::uint32_t seed = 1) {
  const Graph before = g;
  const auto inputs = random_inputs(g, seed);
  const auto want = evaluate(before, inputs);
  const SimplifyReport report = simplify(g, options);
  check_consistent(g);
  EXPECT_FALSE(report.exhausted);
  EXPECT_EQ(report.refused, 0);
  EXPECT_EQ(g.output_names(), before.output_names());
  const auto got = evaluate(g, inputs);
  EXPECT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < std::min(got.size(), want.size()); ++k) {
    EXPECT_TRUE(g.fact(g.outputs()[k]).same_type(before.fact(before.outputs()[k])));
    expect_close(got[k].tensor(), want[k].tensor(), tolerance, "output " + std::to_string(k));
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << print(before) << "became\n" << print(g);
  return report;
}

inline int fired(const SimplifyReport& report, std::string_view rule) {
  const auto it = report.fired.find(rule);
  return it == report.fired.end() ? 0 : it->second;
}

}  // namespace treadle::passes_test
