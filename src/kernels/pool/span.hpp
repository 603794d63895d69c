// Which taps of a pooling window lie inside the input.
#pragma once

#include <algorithm>

#include "kernels/pool/pool.hpp"

namespace treadle::kernels {

// The taps of one window along one axis.
struct Span {
  std::int64_t start = 0;            // position of the first tap, maybe outside
  std::int64_t first = 0, last = 0;  // taps [first, last) lie inside
  std::int64_t padded = 0;           // taps inside the padded input
  std::int64_t count() const { return last - first; }
};

// Taps below `end`.
inline std::int64_t taps_below(const PoolAxis& a, std::int64_t start, std::int64_t end) {
  if (start >= end) return 0;
  return std::min(a.kernel, (end - start + a.dilation - 1) / a.dilation);
}

inline Span span_of(const PoolAxis& a, std::int64_t o) {
  Span s;
  s.start = o * a.stride - a.before;
  s.last = taps_below(a, s.start, a.in);
  s.first = std::min(s.last, taps_below(a, s.start, 0));
  s.padded = taps_below(a, s.start, a.in + a.after);
  return s;
}

}  // namespace treadle::kernels
