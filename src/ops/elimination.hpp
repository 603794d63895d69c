// What operators over square matrices share.
#pragma once

#include <cmath>
#include <span>

#include "ops/checks.hpp"

namespace treadle::ops {

// Input 0 'x', the only one. Throws Type error unless it is of floats, Shape error unless it has
// two axes.
inline const Fact& need_matrices(InputFacts in) {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(is_float(x.dtype), ErrorKind::Type, "input 0 'x' has dtype {}, expected a float",
        name_of(x.dtype));
  check(x.rank() >= 2, ErrorKind::Shape, "input 0 'x' has shape {}, expected [..., n, n]",
        str(x.shape));
  return x;
}

// The size n of x [..., n, n]. Throws Shape error for others.
inline std::size_t square_size(const TensorView& x) {
  check(x.shape[x.shape.size() - 2] == x.shape.back(), ErrorKind::Shape,
        "input 0 'x' has shape {}, expected square matrices", x.shape.str());
  return static_cast<std::size_t>(x.shape.back());
}

// Of rows k to n - 1 of m, which has rows of `width`, the one with the largest element in column k.
inline std::size_t pivot_row(std::span<const double> m, std::size_t n, std::size_t width,
                             std::size_t k) {
  std::size_t pivot = k;
  for (std::size_t r = k + 1; r < n; ++r) {
    if (std::fabs(m[r * width + k]) > std::fabs(m[pivot * width + k])) pivot = r;
  }
  return pivot;
}

}  // namespace treadle::ops
