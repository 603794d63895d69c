#include "kernels/resize/resize.hpp"

#include <algorithm>

#include "kernels/math/split.hpp"

namespace treadle::kernels {
namespace {

void nearest_row(const ResizeArgs& a, const float* row, float* y) {
  if (a.inner == 1) {
    for (const ResizeTap& c : a.columns) *y++ = row[c.low];
    return;
  }
  for (const ResizeTap& c : a.columns) {
    std::copy_n(row + c.low * a.inner, a.inner, y);
    y += a.inner;
  }
}

// One value a position: all four neighbours at once.
void linear_row_single(const ResizeArgs& a, const ResizeTap& r, const float* low, const float* high,
                       float* y) {
  for (const ResizeTap& c : a.columns) {
    const float top = low[c.low] * c.low_weight + low[c.high] * c.high_weight;
    const float bottom = high[c.low] * c.low_weight + high[c.high] * c.high_weight;
    *y++ = top * r.low_weight + bottom * r.high_weight;
  }
}

void linear_row(const Rows& t, const ResizeArgs& a, const ResizeTap& r, const float* low,
                const float* high, float* y) {
  float bottom[kColumns];
  for (const ResizeTap& c : a.columns) {
    for (std::int64_t i = 0; i < a.inner; i += kColumns) {
      const std::int64_t n = std::min(kColumns, a.inner - i);
      const std::int64_t left = c.low * a.inner + i, right = c.high * a.inner + i;
      t.blend(low + left, low + right, y + i, n, c.low_weight, c.high_weight);
      t.blend(high + left, high + right, bottom, n, c.low_weight, c.high_weight);
      t.blend(y + i, bottom, y + i, n, r.low_weight, r.high_weight);
    }
    y += a.inner;
  }
}

}  // namespace

void resize(const Rows& table, const ResizeArgs& a, const float* x, float* y, Parallel& parallel) {
  const auto rows = static_cast<std::int64_t>(a.rows.size());
  const std::int64_t out_row = static_cast<std::int64_t>(a.columns.size()) * a.inner;
  const std::int64_t in_row = a.in_width * a.inner;
  if (a.outer * rows * out_row == 0) return;
  parallel.run(a.outer * rows, std::max<std::int64_t>(1, 8192 / out_row),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   const ResizeTap& r = a.rows[static_cast<std::size_t>(u % rows)];
                   const float* plane = x + u / rows * a.in_height * in_row;
                   const float *low = plane + r.low * in_row, *high = plane + r.high * in_row;
                   if (a.nearest) {
                     nearest_row(a, low, y + u * out_row);
                   } else if (a.inner == 1) {
                     linear_row_single(a, r, low, high, y + u * out_row);
                   } else {
                     linear_row(table, a, r, low, high, y + u * out_row);
                   }
                 }
               });
}

}  // namespace treadle::kernels
