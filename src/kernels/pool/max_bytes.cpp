#include <algorithm>
#include <limits>

#include "kernels/pool/span.hpp"

namespace treadle::kernels {
namespace {

// Of Rows.
template <typename T>
using MaxFn = void (*)(const T* x, std::ptrdiff_t stride, std::int64_t rows, T* out, std::int64_t n,
                       bool first);

// One output row along the last spatial axis.
template <typename T>
void pool_row(MaxFn<T> largest, const PoolArgs& p, const Span& d, const Span& h, const T* x, T* y) {
  const PoolAxis& a = p.axes[2];
  const std::int64_t c = p.channels;
  for (std::int64_t o = 0; o < a.out; ++o, y += c) {
    const Span w = span_of(a, o);
    bool first = true;
    for (std::int64_t i = d.first; i < d.last; ++i) {
      const std::int64_t z = d.start + i * p.axes[0].dilation;
      for (std::int64_t j = h.first; j < h.last && w.count() > 0; ++j) {
        const std::int64_t line = z * p.axes[1].in + h.start + j * p.axes[1].dilation;
        largest(x + (line * a.in + w.start + w.first * a.dilation) * c, a.dilation * c, w.count(),
                y, c, first);
        first = false;
      }
    }
    if (first) std::fill_n(y, c, std::numeric_limits<T>::lowest());
  }
}

template <typename T>
void pool_bytes(MaxFn<T> largest, const PoolArgs& p, const T* x, T* y, Parallel& parallel) {
  const std::int64_t rows = p.batch * p.axes[0].out * p.axes[1].out;
  const std::int64_t row = p.axes[2].out * p.channels;
  const std::int64_t image = p.axes[0].in * p.axes[1].in * p.axes[2].in * p.channels;
  const std::int64_t taps = p.axes[0].kernel * p.axes[1].kernel * p.axes[2].kernel;
  const std::int64_t grain = std::max<std::int64_t>(
      1, (1 << 18) / std::max<std::int64_t>(1, row * std::min<std::int64_t>(taps, 1 << 18)));
  parallel.run(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const Span h = span_of(p.axes[1], r % p.axes[1].out);
      const Span d = span_of(p.axes[0], r / p.axes[1].out % p.axes[0].out);
      pool_row(largest, p, d, h, x + r / p.axes[1].out / p.axes[0].out * image, y + r * row);
    }
  });
}

}  // namespace

void max_pool(const Rows& table, const PoolArgs& args, const std::uint8_t* x, std::uint8_t* y,
              Parallel& parallel) {
  pool_bytes(table.max_u8, args, x, y, parallel);
}
void max_pool(const Rows& table, const PoolArgs& args, const std::int8_t* x, std::int8_t* y,
              Parallel& parallel) {
  pool_bytes(table.max_s8, args, x, y, parallel);
}

}  // namespace treadle::kernels
