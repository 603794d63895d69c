// Runs one operator through its kernel and compares with its reference evaluation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cpu/translators.hpp"
#include "graph/evaluate.hpp"
#include "graph/graph.hpp"

namespace treadle::cpu::test {

inline std::string text(const std::vector<Tensor>& inputs, const Operator& op) {
  std::string s = std::string(op.name()) + " " + op.params_text();
  for (const Tensor& t : inputs) s += " " + (t.defined() ? t.shape().str() : "none");
  return s;
}

// Between low and high, both included.
inline std::int64_t pick(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

inline Tensor random_f32(std::mt19937& random, const Shape& shape, float low = -3, float high = 3) {
  Tensor t(DType::F32, shape);
  std::uniform_real_distribution<float> uniform(low, high);
  for (float& v : t.mutable_span<float>()) v = uniform(random);
  return t;
}

// Any bytes, for kernels that only move elements.
inline Tensor random_bytes(std::mt19937& random, DType dtype, const Shape& shape) {
  Tensor t(dtype, shape);
  auto* p = static_cast<unsigned char*>(t.mutable_data());
  for (std::size_t i = 0; i < t.bytes(); ++i) {
    p[i] = static_cast<unsigned char>(random() & (dtype == DType::Bool ? 1u : 255u));
  }
  return t;
}

// The outputs of the kernel that translate() gives; empty (and a failed test) when it gives none.
// An undefined tensor is an omitted input. With `inplace` the first output takes the memory of the
// input that the translation allows.
inline std::vector<Tensor> run_kernel(const OperatorPtr& op, const std::vector<Tensor>& inputs,
                                      int threads = 1, bool inplace = false,
                                      const std::vector<bool>& constants = {}) {
  Graph g;
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    if (!inputs[i].defined()) {
      ids.emplace_back();
    } else if (i < constants.size() && constants[i]) {
      ids.push_back(g.add_constant(name, inputs[i]));
    } else {
      ids.push_back(g.add_source(name, Fact::tensor(inputs[i].dtype(), to_sym(inputs[i].shape()))));
    }
  }
  const std::vector<ValueId> made = g.add("node", op, ids);
  const LowerOptions options;
  const Node& node = g.node(made[0].node);
  const Translation t = translate({g, node, options});
  EXPECT_TRUE(t.kernel) << "no kernel for " << text(inputs, *op);
  if (!t.kernel) return {};
  std::vector<Tensor> copies, outputs;
  for (const Tensor& x : inputs) copies.push_back(x.defined() ? x.clone() : x);
  for (const Output& o : node.outputs) outputs.emplace_back(o.fact.dtype, concrete(o.fact.shape));
  if (inplace && t.inplace >= 0) outputs[0] = copies[static_cast<std::size_t>(t.inplace)];
  std::vector<TensorView> views;
  views.reserve(copies.size() + outputs.size());
  std::vector<const TensorView*> in;
  for (const Tensor& x : copies) {
    if (x.defined()) views.push_back(x.view());
    in.push_back(x.defined() ? &views.back() : nullptr);
  }
  std::vector<TensorView*> out;
  std::vector<const TensorView*> out_const;
  for (const Tensor& y : outputs) {
    views.push_back(y.view());
    out.push_back(&views.back());
    out_const.push_back(&views.back());
  }
  const SymbolValues none;
  const auto bound = t.kernel->bind({in, out_const, none, threads});
  const Tensor workspace(DType::U8, Shape{static_cast<std::int64_t>(bound->workspace_bytes())});
  const auto pool = make_thread_pool(threads);
  RunContext ctx{in, out, workspace.view().data, *pool};
  bound->run(ctx);
  return outputs;
}

// |got − want| ≤ tolerance · max(1, largest |want|); NaN where NaN is wanted. tolerance 0: the same
// bytes.
inline void expect_close(const Tensor& got, const Tensor& want, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape().str(), want.shape().str()) << what;
  if (tolerance == 0) {
    EXPECT_TRUE(got.identical(want)) << what;
    return;
  }
  const std::vector<double> a = got.to_f64(), b = want.to_f64();
  double scale = 1;
  for (const double v : b) {
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = (std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i];
    ASSERT_TRUE(same || std::fabs(a[i] - b[i]) <= tolerance * scale)
        << what << ": element " << i << " is " << a[i] << ", expected " << b[i];
  }
}

// Kernel against reference, on one and on two threads, out of place and in place.
inline void expect_reference(const OperatorPtr& op, const std::vector<Tensor>& inputs,
                             double tolerance, const std::vector<bool>& constants = {}) {
  std::vector<Value> values;
  for (const Tensor& x : inputs) values.emplace_back(x);
  std::vector<const Value*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(inputs[i].defined() ? &values[i] : nullptr);
  }
  const std::vector<Value> want = evaluate(*op, pointers);
  for (const int threads : {1, 2}) {
    for (const bool inplace : {false, true}) {
      const std::vector<Tensor> got = run_kernel(op, inputs, threads, inplace, constants);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        expect_close(got[i], want[i].tensor(), tolerance, text(inputs, *op));
      }
    }
  }
}

}  // namespace treadle::cpu::test
