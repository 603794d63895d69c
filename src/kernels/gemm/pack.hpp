// The packed form of a right factor: panels of columns, each panel taps x k rows of its width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

// The panel that begins at column j starts at float j * rows; the last one is padded with zeros to
// a multiple of kernels.lanes columns.
std::size_t packed_floats(const DotKernels& kernels, std::int64_t rows, std::int64_t columns);

// Element (tap, i, j) of the source is b[tap_offsets[tap] + i * row_stride + j * column_stride]
// (offset 0 when tap_offsets is null); it becomes row tap * k + i of the packed form.
struct PackSource {
  const float* b = nullptr;
  std::int64_t taps = 1, k = 0, columns = 0;
  std::ptrdiff_t row_stride = 0, column_stride = 0;
  const std::ptrdiff_t* tap_offsets = nullptr;
};
void pack_panels(const DotKernels& kernels, const PackSource& source, float* out);

}  // namespace treadle::kernels
