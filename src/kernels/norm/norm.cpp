#include "kernels/norm/norm.hpp"

#include <algorithm>
#include <cmath>

namespace treadle::kernels {
namespace {

void norm_row(const Rows& t, const float* x, float* y, std::int64_t n, bool center, float epsilon) {
  const float count = static_cast<float>(n);
  const float mean = center ? t.folded(Fold::Sum)(x, n) / count : 0.0f;
  const float square = t.sum_square_about(x, n, mean) / count;
  t.shift_scale(x, y, n, mean, 1.0f / std::sqrt(square + epsilon));
}

// n ≤ kColumns columns, `stride` between their elements.
void norm_columns(const Rows& t, const float* x, float* y, std::int64_t length, std::int64_t stride,
                  std::int64_t n, bool center, float epsilon) {
  float mean[kColumns], square[kColumns], d[kColumns];
  const float share = 1.0f / static_cast<float>(length);
  if (center) {
    t.folded_rows(Fold::Sum)(x, stride, length, mean, n, true);
    t.second_one(Fn2::Mul)(mean, &share, mean, n);
    for (std::int64_t i = 0; i < length; ++i) {
      t.both(Fn2::Sub)(x + i * stride, mean, d, n);
      t.folded_rows(Fold::SumSquare)(d, 0, 1, square, n, i == 0);
    }
  } else {
    std::fill_n(mean, n, 0.0f);
    t.folded_rows(Fold::SumSquare)(x, stride, length, square, n, true);
  }
  t.second_one(Fn2::Mul)(square, &share, square, n);
  t.second_one(Fn2::Add)(square, &epsilon, square, n);
  t[Fn1::Rsqrt](square, square, n, 0, 0);
  for (std::int64_t i = 0; i < length; ++i) {
    t.both(Fn2::Sub)(x + i * stride, mean, d, n);
    t.both(Fn2::Mul)(d, square, y + i * stride, n);
  }
}

}  // namespace

void normalize(const Rows& table, const Split& s, bool center, float epsilon, const float* x,
               float* y, Parallel& parallel) {
  if (s.elements() == 0) return;
  if (s.inner == 1) {
    parallel.run(s.outer, std::max<std::int64_t>(1, 16384 / s.length),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     norm_row(table, x + r * s.length, y + r * s.length, s.length, center, epsilon);
                   }
                 });
    return;
  }
  const std::int64_t parts = (s.inner + kColumns - 1) / kColumns;
  const std::int64_t unit = s.length * std::min(kColumns, s.inner);
  parallel.run(s.outer * parts, std::max<std::int64_t>(1, 16384 / unit),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   const std::int64_t column = u % parts * kColumns;
                   const std::int64_t at = u / parts * s.length * s.inner + column;
                   norm_columns(table, x + at, y + at, s.length, s.inner,
                                std::min(kColumns, s.inner - column), center, epsilon);
                 }
               });
}

}  // namespace treadle::kernels
