#include "kernels/softmax/softmax.hpp"

#include <algorithm>
#include <cmath>

namespace treadle::kernels {
namespace {

void softmax_row(const Rows& t, const float* x, float* y, std::int64_t n) {
  const float top = t.folded(Fold::Max)(x, n);
  const float scale = 1.0f / t.exp_sum(x, y, n, top);
  t.second_one(Fn2::Mul)(y, &scale, y, n);
}

void log_softmax_row(const Rows& t, const float* x, float* y, std::int64_t n) {
  constexpr std::int64_t kPart = 1024;
  float scratch[kPart];
  const float top = t.folded(Fold::Max)(x, n);
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += kPart) {
    sum += static_cast<double>(t.exp_sum(x + i, scratch, std::min(kPart, n - i), top));
  }
  t.shift_scale(x, y, n, top, 1.0f);
  const float log_sum = static_cast<float>(std::log(sum));
  t.second_one(Fn2::Sub)(y, &log_sum, y, n);
}

// n ≤ kColumns columns, `stride` between their elements.
void softmax_columns(const Rows& t, const float* x, float* y, std::int64_t length,
                     std::int64_t stride, std::int64_t n, bool logarithm) {
  float top[kColumns], sum[kColumns], scratch[kColumns];
  t.folded_rows(Fold::Max)(x, stride, length, top, n, true);
  std::fill_n(sum, n, 0.0f);
  for (std::int64_t i = 0; i < length; ++i) {
    float* e = logarithm ? scratch : y + i * stride;
    t.both(Fn2::Sub)(x + i * stride, top, e, n);
    t[Fn1::Exp](e, e, n, 0, 0);
    t.both(Fn2::Add)(sum, e, sum, n);
  }
  if (logarithm) {
    t[Fn1::Log](sum, sum, n, 0, 0);
    for (std::int64_t i = 0; i < length; ++i) {
      t.both(Fn2::Sub)(x + i * stride, top, scratch, n);
      t.both(Fn2::Sub)(scratch, sum, y + i * stride, n);
    }
  } else {
    t[Fn1::Reciprocal](sum, sum, n, 0, 0);
    for (std::int64_t i = 0; i < length; ++i) {
      t.both(Fn2::Mul)(y + i * stride, sum, y + i * stride, n);
    }
  }
}

}  // namespace

void softmax(const Rows& table, const Split& s, bool logarithm, const float* x, float* y,
             Parallel& parallel) {
  if (s.elements() == 0) return;
  if (s.inner == 1) {
    parallel.run(s.outer, std::max<std::int64_t>(1, 4096 / s.length),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const std::int64_t at = r * s.length;
                     if (logarithm) {
                       log_softmax_row(table, x + at, y + at, s.length);
                     } else {
                       softmax_row(table, x + at, y + at, s.length);
                     }
                   }
                 });
    return;
  }
  const std::int64_t parts = (s.inner + kColumns - 1) / kColumns;
  const std::int64_t unit = s.length * std::min(kColumns, s.inner);
  parallel.run(s.outer * parts, std::max<std::int64_t>(1, 4096 / unit),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t u = begin; u < end; ++u) {
                   const std::int64_t column = u % parts * kColumns;
                   const std::int64_t at = u / parts * s.length * s.inner + column;
                   softmax_columns(table, x + at, y + at, s.length, s.inner,
                                   std::min(kColumns, s.inner - column), logarithm);
                 }
               });
}

}  // namespace treadle::kernels
