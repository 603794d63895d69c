// A shape around neighbouring axes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.hpp"
#include "kernels/math/split.hpp"

namespace treadle::cpu {

// True for one or more sorted axes that are neighbours.
inline bool are_neighbours(const std::vector<std::int64_t>& axes) {
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) return false;
  }
  return !axes.empty();
}

// [sizes before, sizes first … last, sizes behind], each multiplied.
inline kernels::Split split_around(const Shape& shape, std::int64_t first, std::int64_t last) {
  kernels::Split s;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    std::int64_t& size = axis < first ? s.outer : axis <= last ? s.length : s.inner;
    size = checked_mul(size, shape[i]);
  }
  return s;
}

}  // namespace treadle::cpu
