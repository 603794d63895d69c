#include "kernels/quantize/byte_chain.hpp"

#include <algorithm>

namespace treadle::kernels {
namespace {

constexpr std::int64_t kPart = 1024;
constexpr std::int64_t kMinTask = 1 << 15;

void dequantise(const Rows& table, const ByteScale& s, const void* x, std::int64_t at, float* y,
                std::int64_t n) {
  if (s.is_signed)
    table.dequantize_s8(static_cast<const std::int8_t*>(x) + at, y, n, s.scale, s.zero);
  else
    table.dequantize_u8(static_cast<const std::uint8_t*>(x) + at, y, n, s.scale, s.zero);
}

}  // namespace

void look_up(const ByteTable& table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n,
             Parallel& parallel) {
  parallel.run(n, kMinTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
  });
}

void combine_bytes(const Rows& table, const CombineBytes& args, const void* a, const void* b,
                   void* y, std::int64_t n, Parallel& parallel) {
  parallel.run(n, kMinTask, [&](std::int64_t begin, std::int64_t end) {
    float left[kPart], right[kPart];
    for (std::int64_t at = begin; at < end; at += kPart) {
      const std::int64_t m = std::min(kPart, end - at);
      dequantise(table, args.a, a, at, left, m);
      if (args.fn) {
        dequantise(table, args.b, b, at, right, m);
        table.both (*args.fn)(left, right, left, m);
      }
      table.quantize(left, static_cast<std::uint8_t*>(y) + at, m, args.y.scale, args.y.zero,
                     args.low, args.high);
    }
  });
}

}  // namespace treadle::kernels
