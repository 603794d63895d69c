// Slice bounds as numpy, ONNX and TensorFlow write them, resolved against an axis.
#pragma once

#include <cstdint>

#include "graph/dim.hpp"

namespace treadle::ops {

struct SliceBounds {
  Dim start, length;
};
struct ConcreteSlice {
  std::int64_t start = 0, length = 0;
};

// Negative bounds count from the end, then both are clamped: with step > 0 to [0, size], else start
// to [0, size−1] and end to [−1, size−1]. Throws Shape error when step is 0.
ConcreteSlice slice_bounds(std::int64_t size, std::int64_t start, std::int64_t end,
                           std::int64_t step);
// Whether the bound is negative. One that holds symbols counts as non-negative unless it is below
// zero for all symbols 1 and all 1000.
bool counts_from_end(const Dim& bound);
// The same with expressions; a constant end of at least 2³¹−1 means "to the end" of a
// symbolic axis, one of at most −2³¹ "before the start".
SliceBounds slice_bounds(const Dim& size, const Dim& start, const Dim& end, std::int64_t step);

}  // namespace treadle::ops
