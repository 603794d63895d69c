// Helpers of the neural-network operators' tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/evaluate.hpp"

namespace treadle::test {

// Small whole numbers, so that sums are exact.
inline Tensor whole_numbers(const Shape& shape, std::uint32_t seed) {
  Tensor t(DType::F32, shape);
  std::uint32_t state = seed * 2654435761u + 1;
  for (float& v : t.mutable_span<float>()) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<int>(state >> 24) % 9 - 4);
  }
  return t;
}

// first, first+1, …
inline Tensor counting(const Shape& shape, float first) {
  Tensor t(DType::F32, shape);
  auto s = t.mutable_span<float>();
  std::iota(s.begin(), s.end(), first);
  return t;
}

inline Tensor filled(const Shape& shape, float value) {
  Tensor t(DType::F32, shape);
  std::ranges::fill(t.mutable_span<float>(), value);
  return t;
}

inline std::vector<double> values(const Tensor& t) {
  return t.to_f64();
}

inline void expect_near(const Tensor& got, const std::vector<double>& want,
                        double tolerance = 1e-6) {
  const std::vector<double> v = got.to_f64();
  ASSERT_EQ(v.size(), want.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    EXPECT_NEAR(v[i], want[i], tolerance + tolerance * std::abs(want[i])) << "element " << i;
  }
}

// t with axis i of the result being axis perm[i] of t.
inline Tensor permuted(const Tensor& t, const std::vector<std::size_t>& perm) {
  Shape shape;
  const Shape from = t.shape().strides();
  for (const std::size_t p : perm) shape.push_back(t.shape()[p]);
  Tensor out(t.dtype(), shape);
  auto to = out.mutable_span<float>();
  const auto source = t.span<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (std::size_t k = perm.size(); k-- > 0;) {
      at += rest % shape[k] * from[perm[k]];
      rest /= shape[k];
    }
    to[i] = source[static_cast<std::size_t>(at)];
  }
  return out;
}

// [N, C, spatial] → [N, spatial, C] and back.
inline std::vector<std::size_t> to_last(std::size_t rank) {
  std::vector<std::size_t> p{0};
  for (std::size_t i = 2; i < rank; ++i) p.push_back(i);
  p.push_back(1);
  return p;
}
inline std::vector<std::size_t> to_first(std::size_t rank) {
  std::vector<std::size_t> p{0, rank - 1};
  for (std::size_t i = 1; i + 1 < rank; ++i) p.push_back(i);
  return p;
}

// The message of the Error that evaluating `op` throws; empty when there is none.
inline std::string error_of(const Operator& op, const std::vector<Tensor>& inputs) {
  try {
    evaluate(op, inputs);
  } catch (const Error& e) {
    return e.message();
  }
  return {};
}

}  // namespace treadle::test
