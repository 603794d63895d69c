#include "kernels/quantize/quantize.hpp"

#include <algorithm>
#include <limits>

namespace treadle::kernels {
namespace {

constexpr std::int64_t kPart = 1024;

// Calls body(index of the middle axis, offset, count) for parts of rows along the inner axis.
template <typename Body>
void for_parts(const Split& s, Parallel& parallel, Body body) {
  if (s.elements() == 0) return;
  const std::int64_t parts = (s.inner + kPart - 1) / kPart;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::min(kPart, s.inner));
  parallel.run(s.outer * s.length * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t row = u / parts, first = u % parts * kPart;
      body(row % s.length, row * s.inner + first, std::min(kPart, s.inner - first));
    }
  });
}

template <typename T>
void quantize_any(const Rows& table, const Split& s, const float* x, const float* scale,
                  const T* zero, T* y, Parallel& parallel) {
  for_parts(s, parallel, [&](std::int64_t index, std::int64_t at, std::int64_t n) {
    table.quantize(x + at, reinterpret_cast<std::uint8_t*>(y) + at, n, scale[index],
                   zero ? zero[index] : 0, std::numeric_limits<T>::min(),
                   std::numeric_limits<T>::max());
  });
}

}  // namespace

void quantize(const Rows& table, const Split& s, const float* x, const float* scale,
              const std::uint8_t* zero, std::uint8_t* y, Parallel& parallel) {
  quantize_any(table, s, x, scale, zero, y, parallel);
}
void quantize(const Rows& table, const Split& s, const float* x, const float* scale,
              const std::int8_t* zero, std::int8_t* y, Parallel& parallel) {
  quantize_any(table, s, x, scale, zero, y, parallel);
}
void dequantize(const Rows& table, const Split& s, const std::uint8_t* x, const float* scale,
                const std::uint8_t* zero, float* y, Parallel& parallel) {
  for_parts(s, parallel, [&](std::int64_t index, std::int64_t at, std::int64_t n) {
    table.dequantize_u8(x + at, y + at, n, scale[index], zero ? zero[index] : 0);
  });
}
void dequantize(const Rows& table, const Split& s, const std::int8_t* x, const float* scale,
                const std::int8_t* zero, float* y, Parallel& parallel) {
  for_parts(s, parallel, [&](std::int64_t index, std::int64_t at, std::int64_t n) {
    table.dequantize_s8(x + at, y + at, n, scale[index], zero ? zero[index] : 0);
  });
}

}  // namespace treadle::kernels
