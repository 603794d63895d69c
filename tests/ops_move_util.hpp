// Short forms for tests of movement operators.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/evaluate.hpp"

namespace treadle::test {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

template <typename T>
Tensor tensor(const Shape& shape, std::initializer_list<T> values) {
  return Tensor::of<T>(shape, values);
}
inline Tensor ints(const Shape& shape, std::initializer_list<std::int64_t> v) {
  return Tensor::of<std::int64_t>(shape, v);
}
inline Tensor floats(const Shape& shape, std::initializer_list<float> v) {
  return Tensor::of<float>(shape, v);
}
// 0, 1, 2, … of the shape.
inline Tensor counting(const Shape& shape) {
  Tensor t(DType::F32, shape);
  float next = 0;
  for (float& x : t.mutable_span<float>()) x = next++;
  return t;
}

inline std::vector<float> values(const Tensor& t) {
  const auto s = t.span<float>();
  return {s.begin(), s.end()};
}
inline Ints dims(const Tensor& t) {
  return {t.shape().begin(), t.shape().end()};
}

inline Tensor run(const Operator& op, const std::vector<Tensor>& inputs) {
  return evaluate(op, inputs).front();
}

// The text of the Error that f throws; fails when there is none.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace treadle::test
