// Index tuples of GatherNd and ScatterNd as offsets of slices.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/operator.hpp"

namespace treadle::ops {

struct IndexTuples {
  std::vector<std::int64_t> offsets;  // in elements, one a tuple
  std::int64_t run = 1;               // elements of a slice
};

// Throws Shape error when ranks do not fit or an index is out of range.
IndexTuples index_tuples(const Shape& x, const TensorView& indices, std::int64_t batch_dims);
// What infer of both checks: integer indices, a constant tuple size within the rank. Returns it.
std::int64_t tuple_size(const Fact& x, const Fact& indices, std::int64_t batch_dims);

}  // namespace treadle::ops
