// Numeric elements of any dtype as doubles, for reference implementations.
#pragma once

#include <vector>

#include "ops/elements.hpp"
#include "tensor/tensor.hpp"

namespace treadle::ops {

// Throws Type error for strings and complex numbers.
inline std::vector<double> read_doubles(const TensorView& v) {
  std::vector<double> out;
  dispatch(v.dtype, [&]<typename T>(T) {
    out.reserve(static_cast<std::size_t>(v.elements()));
    for (const T x : v.span<T>()) out.push_back(static_cast<double>(widen(x)));
  });
  return out;
}

// `v` holds as many elements as `values`; rounding and saturation as convert() does.
inline void write_doubles(TensorView& v, const std::vector<double>& values) {
  dispatch(v.dtype, [&]<typename T>(T) {
    auto to = v.span<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = convert<T>(values[i]);
  });
}

}  // namespace treadle::ops
