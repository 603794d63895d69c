#include "kernels/transpose/transpose.hpp"

#include <algorithm>
#include <cstring>

namespace treadle::kernels {
namespace {

// Matrices are cut into squares of so many elements, which stay in the first-level cache.
constexpr std::int64_t kBlock = 32;

template <typename T>
void transpose_plain(const std::byte* in, std::ptrdiff_t in_stride, std::byte* out,
                     std::ptrdiff_t out_stride, std::int64_t rows, std::int64_t columns) {
  constexpr std::ptrdiff_t kSize = sizeof(T);
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::byte* from = in + c * kSize;
    std::byte* to = out + c * out_stride * kSize;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(to + r * kSize, from + r * in_stride * kSize, sizeof(T));
    }
  }
}

typedef std::uint32_t Four __attribute__((vector_size(16)));

void transpose_4x4(const std::byte* in, std::ptrdiff_t in_stride, std::byte* out,
                   std::ptrdiff_t out_stride) {
  Four x[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&x[i], in + i * in_stride * 4, 16);
  const Four low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
  const Four low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  const Four high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  const Four y[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                     __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                     __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                     __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(out + i * out_stride * 4, &y[i], 16);
}

void transpose_words(const std::byte* in, std::ptrdiff_t in_stride, std::byte* out,
                     std::ptrdiff_t out_stride, std::int64_t rows, std::int64_t columns) {
  const std::int64_t r4 = rows / 4 * 4, c4 = columns / 4 * 4;
  for (std::int64_t c = 0; c < c4; c += 4) {
    for (std::int64_t r = 0; r < r4; r += 4) {
      transpose_4x4(in + (r * in_stride + c) * 4, in_stride, out + (c * out_stride + r) * 4,
                    out_stride);
    }
  }
  transpose_plain<std::uint32_t>(in + c4 * 4, in_stride, out + c4 * out_stride * 4, out_stride, r4,
                                 columns - c4);
  transpose_plain<std::uint32_t>(in + r4 * in_stride * 4, in_stride, out + r4 * 4, out_stride,
                                 rows - r4, columns);
}

}  // namespace

void transpose_matrix(std::size_t size, const std::byte* in, std::ptrdiff_t in_stride,
                      std::byte* out, std::ptrdiff_t out_stride, std::int64_t rows,
                      std::int64_t columns) {
  const auto block = size == 1   ? transpose_plain<std::uint8_t>
                     : size == 2 ? transpose_plain<std::uint16_t>
                     : size == 4 ? transpose_words
                                 : transpose_plain<std::uint64_t>;
  const std::ptrdiff_t bytes = static_cast<std::ptrdiff_t>(size);
  for (std::int64_t c = 0; c < columns; c += kBlock) {
    for (std::int64_t r = 0; r < rows; r += kBlock) {
      block(in + (r * in_stride + c) * bytes, in_stride, out + (c * out_stride + r) * bytes,
            out_stride, std::min(kBlock, rows - r), std::min(kBlock, columns - c));
    }
  }
}

}  // namespace treadle::kernels
