// Operators that only copy elements, as strided copies: what the translators of the CPU and of
// devices share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.hpp"
#include "kernels/copy/copy.hpp"

namespace treadle::cpu {

// The element of the output at `to` + Σ i·out is the input's at `from` + Σ i·in.
struct CopyDesc {
  std::vector<kernels::CopyAxis> axes;
  std::int64_t from = 0, to = 0;
};

// A block of `sizes` between tensors of the given shapes.
CopyDesc block_desc(const Shape& sizes, const Shape& in, const Shape& out);
CopyDesc transpose_desc(const std::vector<int>& perm, const Shape& in, const Shape& out);

// Each throws Shape error when the shapes do not fit the operator.
CopyDesc expand_desc(const Shape& in, const Shape& out);
CopyDesc tile_desc(const Shape& in, const Shape& out);
// Elements `first`, `first` + `step`, … along the axis, as many as `out` has.
CopyDesc slice_desc(std::size_t axis, std::int64_t first, std::int64_t step, const Shape& in,
                    const Shape& out);
// The input of a Concat whose elements begin at `at` along the axis of the result.
CopyDesc concat_desc(std::size_t axis, std::int64_t at, const Shape& in, const Shape& out);
// Throws Shape error unless the inputs of a Concat end at the end of the result.
void check_concat_end(std::size_t axis, std::int64_t at, const Shape& out);

}  // namespace treadle::cpu
