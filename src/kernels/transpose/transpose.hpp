// The transpose of one matrix: the inner loops of the strided copy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace treadle::kernels {

// out[c · out_stride + r] = in[r · in_stride + c] for r < rows, c < columns; strides in elements of
// `size` bytes (1, 2, 4 or 8). No alignment is needed.
void transpose_matrix(std::size_t size, const std::byte* in, std::ptrdiff_t in_stride,
                      std::byte* out, std::ptrdiff_t out_stride, std::int64_t rows,
                      std::int64_t columns);

}  // namespace treadle::kernels
