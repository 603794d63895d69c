// Nested loops over strided operands, with the innermost one handed out as a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/shape.hpp"

namespace treadle::ops {

// Axes of size 1 are dropped and neighbours merged where every operand allows it.
struct StridedLoop {
  std::vector<std::int64_t> dims;                  // never empty
  std::vector<std::vector<std::int64_t>> strides;  // [operand][axis], in elements

  std::int64_t row() const { return dims.back(); }
  std::int64_t row_stride(std::size_t operand) const { return strides[operand].back(); }
};

StridedLoop strided_loop(std::span<const std::int64_t> dims,
                         std::vector<std::vector<std::int64_t>> strides);

// The loop over `out`: operand 0 is the output (row-major), operand 1 + k is input k, broadcast to
// it. Row strides of inputs are 0 or 1. Throws Shape error naming `what`, the input, axis and sizes
// when an input has another rank or a size that is neither 1 nor the output's.
StridedLoop broadcast_loop(std::string_view what, const Shape& out,
                           std::span<const Shape* const> inputs);

// Calls f(offsets) for each row; offsets[k] is where the row starts in operand k.
template <typename F>
void for_each_row(const StridedLoop& loop, F&& f) {
  for (const std::int64_t d : loop.dims) {
    if (d == 0) return;
  }
  const std::size_t outer = loop.dims.size() - 1;
  const std::size_t operands = loop.strides.size();
  std::vector<std::int64_t> index(outer, 0);
  std::vector<std::int64_t> offsets(operands, 0);
  for (;;) {
    f(static_cast<const std::int64_t*>(offsets.data()));
    std::size_t axis = outer;
    for (;;) {
      if (axis == 0) return;
      --axis;
      const bool wraps = ++index[axis] == loop.dims[axis];
      const std::int64_t steps = wraps ? 1 - loop.dims[axis] : 1;
      for (std::size_t k = 0; k < operands; ++k) offsets[k] += steps * loop.strides[k][axis];
      if (!wraps) break;
      index[axis] = 0;
    }
  }
}

// Calls f(i, g) for each element: its place in operand 0 and in operand 1.
template <typename F>
void for_each_pair(const StridedLoop& loop, F&& f) {
  const std::int64_t n = loop.row(), s0 = loop.row_stride(0), s1 = loop.row_stride(1);
  for_each_row(loop, [&](const std::int64_t* at) {
    for (std::int64_t i = 0; i < n; ++i) {
      f(at[0] + i * s0, static_cast<std::size_t>(at[1] + i * s1));
    }
  });
}

}  // namespace treadle::ops
