#include "kernels/gemm/pack.hpp"

#include <algorithm>
#include <cstring>

#include "base/shape.hpp"

namespace treadle::kernels {
namespace {

// Rows of a panel that are written together when the source is read column by column.
constexpr std::int64_t kRows = 16;

// One panel whose columns lie side by side in the source.
void pack_rows(const PackSource& s, std::int64_t first, std::int64_t n, int width, float* out) {
  for (std::int64_t tap = 0; tap < s.taps; ++tap) {
    const float* b = s.b + (s.tap_offsets ? s.tap_offsets[tap] : 0) + first;
    for (std::int64_t i = 0; i < s.k; ++i, out += width) {
      std::memcpy(out, b + i * s.row_stride, static_cast<std::size_t>(n) * sizeof(float));
      std::fill(out + n, out + width, 0.0f);
    }
  }
}

void pack_columns(const PackSource& s, std::int64_t first, std::int64_t n, int width, float* out) {
  for (std::int64_t i0 = 0; i0 < s.k; i0 += kRows) {
    const std::int64_t rows = std::min(kRows, s.k - i0);
    for (std::int64_t j = 0; j < width; ++j) {
      const float* column = s.b + (first + j) * s.column_stride;
      for (std::int64_t tap = 0; tap < s.taps; ++tap) {
        float* to = out + (tap * s.k + i0) * width + j;
        if (j >= n) {
          for (std::int64_t i = 0; i < rows; ++i) to[i * width] = 0.0f;
          continue;
        }
        const float* from = column + (s.tap_offsets ? s.tap_offsets[tap] : 0) + i0 * s.row_stride;
        for (std::int64_t i = 0; i < rows; ++i) to[i * width] = from[i * s.row_stride];
      }
    }
  }
}

}  // namespace

std::size_t packed_floats(const DotKernels& kernels, std::int64_t rows, std::int64_t columns) {
  const std::int64_t padded =
      checked_add(columns, kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  return static_cast<std::size_t>(checked_mul(rows, padded));
}

void pack_panels(const DotKernels& kernels, const PackSource& s, float* out) {
  for (std::int64_t column = 0; column < s.columns;) {
    const int width = kernels.panel_width(s.columns - column);
    const std::int64_t n = std::min<std::int64_t>(width, s.columns - column);
    float* panel = out + column * s.taps * s.k;
    if (s.column_stride == 1 && (s.row_stride != 1 || s.k == 1)) {
      pack_rows(s, column, n, width, panel);
    } else {
      pack_columns(s, column, n, width, panel);
    }
    column += width;
  }
}

}  // namespace treadle::kernels
