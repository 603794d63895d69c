#include <algorithm>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "kernels/product_u8/product_u8.hpp"

namespace treadle::kernels {
namespace {

std::int64_t quads_of(std::int64_t k) {
  return (k + 3) / 4;
}

// Calls f with each weight's address.
template <typename F>
void for_each_weight(const WeightsU8& w, F&& f) {
  for (std::int64_t g = 0; g < w.groups; ++g) {
    for (std::int64_t t = 0; t < w.taps; ++t) {
      const std::int32_t* b = w.b + g * w.group_stride + (w.tap_offsets ? w.tap_offsets[t] : 0);
      for (std::int64_t i = 0; i < w.k; ++i) {
        for (std::int64_t j = 0; j < w.columns; ++j)
          f(g, j, b[i * w.row_stride + j * w.column_stride]);
      }
    }
  }
}

// Number of s8 addends that the largest weight needs.
std::int64_t parts_of(const WeightsU8& w) {
  std::int32_t most = 0, least = 0;
  for_each_weight(w, [&](std::int64_t, std::int64_t, std::int32_t v) {
    most = std::max(most, v);
    least = std::min(least, v);
  });
  check(most <= kMostU8Weight && least >= kLeastU8Weight, ErrorKind::Internal,
        "weights from {} to {} do not fit the packed form", least, most);
  return parts_u8(least, most);
}

// Addend `part` of a weight.
std::int8_t addend(std::int32_t weight, std::int64_t part) {
  std::int32_t value = std::clamp(weight, -128, 127);
  for (; part > 0; --part) {
    weight -= value;
    value = std::clamp(weight, -128, 127);
  }
  return static_cast<std::int8_t>(value);
}

// The columns [first, first + n) of one group as a panel of `width`.
void pack_panel(const WeightsU8& w, std::int64_t group, std::int64_t parts, std::int64_t first,
                std::int64_t n, int width, std::int8_t* out) {
  const std::int64_t quads = quads_of(w.k);
  std::fill_n(out, parts * w.taps * quads * width * 4, std::int8_t{0});
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t t = 0; t < w.taps; ++t) {
      const std::int32_t* b = w.b + group * w.group_stride +
                              (w.tap_offsets ? w.tap_offsets[t] : 0) + first * w.column_stride;
      std::int8_t* to = out + (part * w.taps + t) * quads * width * 4;
      for (std::int64_t i = 0; i < w.k; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          to[(i / 4 * width + j) * 4 + i % 4] =
              addend(b[i * w.row_stride + j * w.column_stride], part);
        }
      }
    }
  }
}

}  // namespace

SharedPackedU8 pack_u8(const KernelsU8& kernels, const WeightsU8& w) {
  auto packed = std::make_shared<PackedU8>();
  PackedU8& p = *packed;
  p.kernels = &kernels;
  p.groups = w.groups;
  p.taps = w.taps;
  p.k = w.k;
  p.columns = w.columns;
  p.parts = parts_of(w);
  check(p.parts * p.taps <= kMostU8Taps, ErrorKind::Internal, "{} taps in {} parts, expected {}",
        p.taps, p.parts, kMostU8Taps);
  p.padded = checked_add(w.columns, kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  const std::int64_t panel_rows = p.parts * w.taps * quads_of(w.k) * 4;
  const std::int64_t group_bytes = checked_mul(panel_rows, p.padded);
  p.group_bytes = static_cast<std::size_t>(group_bytes);
  p.data = AlignedArray<std::int8_t>(static_cast<std::size_t>(checked_mul(group_bytes, w.groups)));
  for (std::int64_t g = 0; g < w.groups; ++g) {
    for (std::int64_t column = 0; column < w.columns;) {
      const int width = kernels.panel_width(w.columns - column);
      const std::int64_t n = std::min<std::int64_t>(width, w.columns - column);
      pack_panel(w, g, p.parts, column, n, width,
                 p.data.data() + g * group_bytes + column * panel_rows);
      column += width;
    }
  }
  p.sums.assign(static_cast<std::size_t>(w.groups * p.padded), 0);
  for_each_weight(w, [&](std::int64_t g, std::int64_t j, std::int32_t v) {
    auto& sum = p.sums[static_cast<std::size_t>(g * p.padded + j)];
    sum =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(v));
  });
  return packed;
}

void start_u8(const PackedU8& w, std::int32_t zero, const std::int32_t* bias, std::int32_t* start) {
  for (std::int64_t i = 0; i < w.groups * w.padded; ++i) {
    const std::int64_t group = i / w.padded, column = i % w.padded;
    const bool real = bias && column < w.columns;
    const auto from = static_cast<std::uint32_t>(real ? bias[group * w.columns + column] : 0);
    start[i] = static_cast<std::int32_t>(
        from - static_cast<std::uint32_t>(zero) *
                   static_cast<std::uint32_t>(w.sums[static_cast<std::size_t>(i)]));
  }
}

}  // namespace treadle::kernels
