#include "kernels/pool/pool.hpp"

#include <algorithm>
#include <limits>

#include "kernels/pool/span.hpp"

namespace treadle::kernels {
namespace {

// What a sum is multiplied by.
float share(const PoolArgs& p, const Span& a, const Span& b, const Span& c) {
  const std::int64_t n =
      p.count_include_pad ? a.padded * b.padded * c.padded : a.count() * b.count() * c.count();
  return n == 0 ? 0.0f : 1.0f / static_cast<float>(n);
}

float start_of(const PoolArgs& p) {
  return p.fold == Fold::Max ? -std::numeric_limits<float>::infinity() : 0.0f;
}

// One output row along the last spatial axis, channels last.
void row_channels_last(const Rows& t, const PoolArgs& p, const Span& d, const Span& h,
                       const float* x, float* y) {
  const PoolAxis& w_axis = p.axes[2];
  const std::int64_t c = p.channels;
  const auto fold = t.folded_rows(p.fold);
  for (std::int64_t o = 0; o < w_axis.out; ++o, y += c) {
    const Span w = span_of(w_axis, o);
    bool first = true;
    for (std::int64_t i = d.first; i < d.last; ++i) {
      for (std::int64_t j = h.first; j < h.last && w.count() > 0; ++j) {
        const std::int64_t z = d.start + i * p.axes[0].dilation;
        const std::int64_t r = h.start + j * p.axes[1].dilation;
        const std::int64_t column = w.start + w.first * w_axis.dilation;
        fold(x + ((z * p.axes[1].in + r) * w_axis.in + column) * c, w_axis.dilation * c, w.count(),
             y, c, first);
        first = false;
      }
    }
    if (first) std::fill_n(y, c, start_of(p));
    const float scale = share(p, d, h, w);
    if (p.average) t.second_one(Fn2::Mul)(y, &scale, y, c);
    if (p.square_root) t[Fn1::Sqrt](y, y, c, 0, 0);
  }
}

// Output positions that tap `tap` reads inside the input.
struct Range {
  std::int64_t begin, end;
};
Range outputs_of(const PoolAxis& a, std::int64_t tap) {
  const std::int64_t shift = tap * a.dilation - a.before;
  const std::int64_t begin = shift >= 0 ? 0 : (-shift + a.stride - 1) / a.stride;
  const std::int64_t end = shift >= a.in ? 0 : (a.in - 1 - shift) / a.stride + 1;
  return {std::min(begin, a.out), std::min(end, a.out)};
}

// Folds one input row into one output row.
void fold_into_row(const Rows& t, const PoolArgs& p, const float* x, float* y) {
  constexpr std::int64_t kPart = 512;
  float part[kPart];
  const PoolAxis& a = p.axes[2];
  for (std::int64_t tap = 0; tap < a.kernel; ++tap) {
    const Range range = outputs_of(a, tap);
    for (std::int64_t o = range.begin; o < range.end; o += kPart) {
      const std::int64_t n = std::min(kPart, range.end - o);
      const float* from = x + o * a.stride + tap * a.dilation - a.before;
      if (a.stride != 1) {
        for (std::int64_t i = 0; i < n; ++i) part[i] = from[i * a.stride];
        from = part;
      }
      t.folded_rows(p.fold)(from, 0, 1, y + o, n, false);
    }
  }
}

// The same for few outputs with wide windows, such as global pooling.
void fold_wide_windows(const Rows& t, const PoolArgs& p, const float* x, float* y) {
  const Fold joiner = p.fold == Fold::Max ? Fold::Max : Fold::Sum;
  for (std::int64_t o = 0; o < p.axes[2].out; ++o) {
    const Span w = span_of(p.axes[2], o);
    const float pair[2] = {y[o], t.folded(p.fold)(x + w.start + w.first, w.count())};
    y[o] = t.folded(joiner)(pair, 2);
  }
}

void row_channels_first(const Rows& t, const PoolArgs& p, const Span& d, const Span& h,
                        const float* x, float* y) {
  const PoolAxis& a = p.axes[2];
  const bool wide = a.dilation == 1 && a.kernel > 2 * a.out;
  std::fill_n(y, a.out, start_of(p));
  for (std::int64_t i = d.first; i < d.last; ++i) {
    for (std::int64_t j = h.first; j < h.last; ++j) {
      const std::int64_t z = d.start + i * p.axes[0].dilation;
      const std::int64_t r = h.start + j * p.axes[1].dilation;
      const float* row = x + (z * p.axes[1].in + r) * a.in;
      if (wide) {
        fold_wide_windows(t, p, row, y);
      } else {
        fold_into_row(t, p, row, y);
      }
    }
  }
  if (p.average) {
    for (std::int64_t o = 0; o < a.out; ++o) y[o] *= share(p, d, h, span_of(a, o));
  }
  if (p.square_root) t[Fn1::Sqrt](y, y, a.out, 0, 0);
}

}  // namespace

void pool(const Rows& table, const PoolArgs& p, const float* x, float* y, Parallel& parallel) {
  const std::int64_t planes = p.channels_last ? p.batch : p.batch * p.channels;
  const std::int64_t width = p.channels_last ? p.channels : 1;
  const std::int64_t rows = p.axes[0].out * p.axes[1].out;
  const std::int64_t in_plane = p.axes[0].in * p.axes[1].in * p.axes[2].in * width;
  const std::int64_t out_row = p.axes[2].out * width;
  if (planes * rows * out_row == 0) return;
  const std::int64_t taps = p.axes[0].kernel * p.axes[1].kernel * p.axes[2].kernel;
  const std::int64_t grain = std::max<std::int64_t>(
      1, 16384 / std::max<std::int64_t>(1, out_row) / std::max<std::int64_t>(1, taps));
  parallel.run(planes * rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const Span d = span_of(p.axes[0], u % rows / p.axes[1].out);
      const Span h = span_of(p.axes[1], u % rows % p.axes[1].out);
      const float* plane = x + u / rows * in_plane;
      if (p.channels_last) {
        row_channels_last(table, p, d, h, plane, y + u * out_row);
      } else {
        row_channels_first(table, p, d, h, plane, y + u * out_row);
      }
    }
  });
}

}  // namespace treadle::kernels
