// What a product over pixels reads of a channels-last tensor of any element type: rows found
// through pointers, and the kernel's rows as runs of pixels where there are few channels.
#pragma once

#include <algorithm>

#include "kernels/conv/conv.hpp"
#include "kernels/gemm/driver.hpp"

namespace treadle::kernels {

// First and last + 1 of the output columns in [begin, end) whose column of a tap lies inside.
struct InsideColumns {
  std::int64_t begin, end;
};

inline InsideColumns inside_columns(std::int64_t begin, std::int64_t end, std::int64_t offset,
                                    std::int64_t stride, std::int64_t size) {
  // 0 <= x stride + offset < size
  const std::int64_t low = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t high = size - offset <= 0 ? 0 : (size - offset + stride - 1) / stride;
  const std::int64_t from = std::clamp(low, begin, end);
  return {from, std::clamp(high, from, end)};
}

// DotRows::inputs for the taps of `d`, which reads pixel_stride elements per step along w;
// `outside` is the row that stands for what lies outside the input.
template <typename T>
void conv_rows(const ConvDesc& d, const T* input, std::int64_t pixel_stride, const T* outside,
               std::int64_t first, std::int64_t count, const KRange& range, const T** out) {
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t row = first + done;
    const std::int64_t column = row % d.W_out, line = row / d.W_out;
    const std::int64_t y0 = line % d.H_out * d.stride_h - d.pad_top;
    const std::int64_t z0 = line / d.H_out % d.D_out * d.stride_d - d.pad_front;
    const std::int64_t image = line / d.H_out / d.D_out;
    const std::int64_t n = std::min(count - done, d.W_out - column);
    for (std::int64_t t = 0; t < range.taps; ++t) {
      const std::int64_t tap = range.tap + t;
      const std::int64_t z = z0 + tap / d.kW / d.kH * d.dilation_d;
      const std::int64_t y = y0 + tap / d.kW % d.kH * d.dilation_h;
      const T** to = out + t * count + done;
      if (z < 0 || z >= d.D || y < 0 || y >= d.H) {
        std::fill_n(to, n, outside);
        continue;
      }
      const std::int64_t offset = tap % d.kW * d.dilation_w - d.pad_left;
      const InsideColumns in = inside_columns(column, column + n, offset, d.stride_w, d.W);
      std::fill(to, to + (in.begin - column), outside);
      if (in.begin < in.end) {
        const std::int64_t line_start = ((image * d.D + z) * d.H + y) * d.W;
        const std::int64_t step = d.stride_w * pixel_stride;
        const std::int64_t start = line_start + in.begin * d.stride_w + offset;
        const T* const x = input + start * pixel_stride + range.begin;
        for (std::int64_t i = in.begin; i < in.end; ++i) to[i - column] = x + (i - in.begin) * step;
      }
      std::fill(to + (in.end - column), to + n, outside);
    }
    done += n;
  }
}

// With few input channels, the kW pixels that a kernel row reads are one run of kW Cin elements:
// the taps are then the kernel's rows. Where the kernel sticks out sideways, a copy of the input
// with the padding in place is read instead.
struct RowsForm {
  ConvDesc desc;
  bool copies = false;
  explicit RowsForm(const ConvDesc& d) : desc(d) {
    const std::int64_t width = d.W_out > 0 ? (d.W_out - 1) * d.stride_w + d.kW : 0;
    copies = d.pad_left != 0 || width > d.W;
    if (copies) desc.W = width;
    desc.pad_left = 0;
    desc.Cin = d.Cin * d.kW;
    desc.kW = 1;
  }
};
struct ConvOptions;
// Why the form will not do, or null.
const char* refuse_rows(const ConvDesc& d, const ConvOptions&);

// The copy of x that a RowsForm of `width` columns reads.
template <typename T>
void pad_columns(const ConvDesc& d, std::int64_t width, const T* x, T outside, T* out,
                 Parallel& parallel) {
  const std::int64_t c = d.Cin;
  const InsideColumns in = inside_columns(0, width, -d.pad_left, 1, d.W);
  const std::int64_t grain =
      std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, width * c));
  parallel.run(d.N * d.D * d.H, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      T* o = out + row * width * c;
      std::fill_n(o, in.begin * c, outside);
      const T* from = x + (row * d.W + in.begin - d.pad_left) * c;
      if (in.end > in.begin) std::copy_n(from, (in.end - in.begin) * c, o + in.begin * c);
      std::fill_n(o + in.end * c, (width - in.end) * c, outside);
    }
  });
}

}  // namespace treadle::kernels
