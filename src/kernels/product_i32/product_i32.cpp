#include "kernels/product_i32/product_i32.hpp"

#include <algorithm>

#include "base/shape.hpp"

namespace treadle::kernels {
namespace {

constexpr std::int64_t kMinTaskWork = 1 << 16;

// y += a x, wrapping.
void add_scaled(std::int32_t* y, const std::int32_t* x, std::int32_t a, std::int64_t n) {
  const auto factor = static_cast<std::uint32_t>(a);
  for (std::int64_t j = 0; j < n; ++j) {
    y[j] = static_cast<std::int32_t>(static_cast<std::uint32_t>(y[j]) +
                                     factor * static_cast<std::uint32_t>(x[j]));
  }
}

std::int32_t dot_strided(const std::int32_t* a, std::ptrdiff_t a_step, const std::int32_t* b,
                         std::ptrdiff_t b_step, std::int64_t k) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    sum += static_cast<std::uint32_t>(a[i * a_step]) * static_cast<std::uint32_t>(b[i * b_step]);
  }
  return static_cast<std::int32_t>(sum);
}

// Where a tap reads along one axis; false: outside the input.
bool inside(std::int64_t out, std::int64_t stride, std::int64_t tap, std::int64_t dilation,
            std::int64_t pad, std::int64_t size, std::int64_t& at) {
  at = out * stride + tap * dilation - pad;
  return at >= 0 && at < size;
}

// One output pixel of all groups; `w` is [group][tap][Cin/group][Cout/group].
void conv_pixel(const ConvDesc& d, const std::int32_t* x, const std::int32_t* w, std::int64_t pixel,
                std::int32_t* y) {
  const std::int64_t cin = d.cin_per_group(), cout = d.cout_per_group();
  const std::int64_t column = pixel % d.W_out, line = pixel / d.W_out;
  const std::int64_t row = line % d.H_out, plane = line / d.H_out % d.D_out;
  const std::int64_t image = line / d.H_out / d.D_out;
  for (std::int64_t tap = 0; tap < d.taps(); ++tap) {
    std::int64_t z = 0, h = 0, v = 0;
    if (!inside(plane, d.stride_d, tap / d.kW / d.kH, d.dilation_d, d.pad_front, d.D, z) ||
        !inside(row, d.stride_h, tap / d.kW % d.kH, d.dilation_h, d.pad_top, d.H, h) ||
        !inside(column, d.stride_w, tap % d.kW, d.dilation_w, d.pad_left, d.W, v)) {
      continue;
    }
    const std::int32_t* from = x + (((image * d.D + z) * d.H + h) * d.W + v) * d.Cin;
    for (std::int64_t g = 0; g < d.group; ++g) {
      const std::int32_t* weights = w + (g * d.taps() + tap) * cin * cout;
      for (std::int64_t i = 0; i < cin; ++i)
        add_scaled(y + g * cout, weights + i * cout, from[g * cin + i], cout);
    }
  }
}

void reorder(const ConvDesc& d, const std::int32_t* weights, const WeightStrides& s,
             std::int32_t* out) {
  const std::int64_t cin = d.cin_per_group(), cout = d.cout_per_group();
  for (std::int64_t g = 0; g < d.group; ++g) {
    for (std::int64_t tap = 0; tap < d.taps(); ++tap) {
      const std::ptrdiff_t at =
          tap / d.kW / d.kH * s.d + tap / d.kW % d.kH * s.h + tap % d.kW * s.w;
      for (std::int64_t i = 0; i < cin; ++i) {
        for (std::int64_t o = 0; o < cout; ++o)
          *out++ = weights[(g * cout + o) * s.o + i * s.i + at];
      }
    }
  }
}

}  // namespace

void product_i32(const ProductI32Args& p, Parallel& parallel) {
  const std::int64_t grain =
      std::max<std::int64_t>(1, kMinTaskWork / std::max<std::int64_t>(1, p.n * p.k));
  parallel.run(p.m, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int32_t* a = p.a + r * p.a_row;
      std::int32_t* c = p.c + r * p.c_row;
      if (p.b_column != 1) {
        for (std::int64_t j = 0; j < p.n; ++j)
          c[j] = dot_strided(a, p.a_column, p.b + j * p.b_column, p.b_row, p.k);
        continue;
      }
      std::fill_n(c, p.n, 0);
      for (std::int64_t i = 0; i < p.k; ++i)
        add_scaled(c, p.b + i * p.b_row, a[i * p.a_column], p.n);
    }
  });
}

std::size_t conv_i32_workspace_bytes(const ConvDesc& d) {
  const std::int64_t weights = checked_mul(checked_mul(d.Cout, d.cin_per_group()), d.taps());
  return static_cast<std::size_t>(checked_mul(weights, sizeof(std::int32_t)));
}

void conv_i32(const ConvDesc& d, const std::int32_t* x, const std::int32_t* weights,
              const WeightStrides& strides, const std::int32_t* bias, std::int32_t* y,
              void* workspace, Parallel& parallel) {
  const std::int64_t pixels = d.N * d.D_out * d.H_out * d.W_out;
  if (pixels == 0 || d.Cout == 0) return;
  auto* const w = static_cast<std::int32_t*>(workspace);
  reorder(d, weights, strides, w);
  const std::int64_t work = std::max<std::int64_t>(1, d.taps() * d.cin_per_group() * d.Cout);
  parallel.run(pixels, std::max<std::int64_t>(1, kMinTaskWork / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t p = begin; p < end; ++p) {
                   std::int32_t* to = y + p * d.Cout;
                   if (bias)
                     std::copy_n(bias, d.Cout, to);
                   else
                     std::fill_n(to, d.Cout, 0);
                   conv_pixel(d, x, w, p, to);
                 }
               });
}

}  // namespace treadle::kernels
