#include "kernels/product_u8/conv_u8.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "kernels/conv/conv_rows.hpp"

namespace treadle::kernels {
namespace {

class PixelRows final : public RowsU8 {
 public:
  PixelRows(const ConvDesc& desc, const std::uint8_t* x, std::int64_t pixel_bytes,
            const std::uint8_t* outside)
      : desc_(desc), x_(x), pixel_bytes_(pixel_bytes), outside_(outside) {}
  void inputs(std::int64_t first, std::int64_t count, const std::uint8_t** out) const override {
    const KRange all{0, desc_.taps(), 0, desc_.cin_per_group()};
    conv_rows(desc_, x_, pixel_bytes_, outside_, first, count, all, out);
  }

 private:
  const ConvDesc& desc_;
  const std::uint8_t* x_;
  std::int64_t pixel_bytes_;
  const std::uint8_t* outside_;
};

constexpr std::int64_t kMinDepthwiseTask = 1 << 18;  // multiply-adds worth a thread

bool in_rows(const ConvDesc& d) {
  return refuse_rows(d, {}) == nullptr;
}

// The row that stands for the outside comes first in the workspace.
std::int64_t outside_bytes(const ConvDesc& d) {
  return (checked_mul(d.Cin, d.kW) + 63) / 64 * 64;
}

SharedPackedU8 pack_depthwise(const KernelsU8& kernels, const ConvDesc& d,
                              const std::int32_t* weights, const WeightStrides& s) {
  auto packed = std::make_shared<PackedU8>();
  PackedU8& p = *packed;
  p.kernels = &kernels;
  p.depthwise = true;
  p.taps = d.taps();
  p.k = 1;
  p.columns = d.Cout;
  p.padded = (d.Cout + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
  check(p.taps <= kMostU8Taps, ErrorKind::Internal, "{} taps, expected {}", p.taps, kMostU8Taps);
  p.sums.assign(static_cast<std::size_t>(p.padded), 0);
  p.group_bytes = static_cast<std::size_t>(checked_mul(4 * p.taps, p.padded));
  p.data = AlignedArray<std::int8_t>(p.group_bytes);
  auto* out = reinterpret_cast<std::int32_t*>(p.data.data());
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::ptrdiff_t tap = t / d.kW / d.kH * s.d + t / d.kW % d.kH * s.h + t % d.kW * s.w;
    for (std::int64_t o = 0; o < p.padded; ++o) {
      *out = o < d.Cout ? weights[o * s.o + tap] : 0;
      p.sums[static_cast<std::size_t>(o)] += *out++;
    }
  }
  return packed;
}

// Pixels [begin, end) of a depthwise convolution.
void depthwise_pixels(const ConvDesc& d, const ConvU8& args, const PixelRows& rows,
                      std::int64_t begin, std::int64_t end) {
  const PackedU8& w = *args.weights;
  const std::uint8_t* inputs[kMostU8Taps * kMaxTileU8Rows];
  void* c[kMaxTileU8Rows];
  TileU8 tile;
  tile.taps = w.taps;
  tile.k = w.padded;
  tile.flip = args.flip;
  tile.b = w.data.data();
  tile.c = c;
  tile.n = w.columns;
  tile.start = args.finish.start;
  tile.factor = args.finish.factor;
  tile.store = args.finish.store;
  tile.low = args.finish.low;
  tile.high = args.finish.high;
  tile.zero = args.finish.zero;
  const std::ptrdiff_t step = d.Cout * (tile.store == StoreU8::Byte ? 1 : 4);
  // Pointers are found for many pixels at a time.
  constexpr std::int64_t kMostPixels = 64;
  const std::int64_t block = std::min(kMostPixels, std::ssize(inputs) / w.taps);
  for (std::int64_t first = begin; first < end; first += block) {
    const std::int64_t count = std::min(block, end - first);
    rows.inputs(first, count, inputs);
    tile.tap_stride = count;
    for (std::int64_t p = 0; p < count;) {
      const std::int64_t height = std::min<std::int64_t>(w.kernels->depthwise_rows, count - p);
      tile.a = inputs + p;
      for (std::int64_t r = 0; r < height; ++r)
        c[r] = static_cast<char*>(args.y) + (first + p + r) * step;
      w.kernels->depthwise[height](tile);
      p += height;
    }
  }
}

}  // namespace

bool is_depthwise(const ConvDesc& d) {
  return d.group > 1 && d.group == d.Cin && d.group == d.Cout;
}

SharedPackedU8 pack_conv_u8(const KernelsU8& kernels, const ConvDesc& desc,
                            const std::int32_t* weights, const WeightStrides& s) {
  if (is_depthwise(desc)) return pack_depthwise(kernels, desc, weights, s);
  const bool rows = in_rows(desc);
  WeightsU8 w;
  w.b = weights;
  w.groups = desc.group;
  w.columns = desc.cout_per_group();
  w.group_stride = w.columns * s.o;
  w.column_stride = s.o;
  std::vector<std::ptrdiff_t> offsets;
  for (std::int64_t z = 0; z < desc.kD; ++z) {
    for (std::int64_t y = 0; y < desc.kH; ++y) {
      for (std::int64_t x = 0; x < desc.kW; ++x) offsets.push_back(z * s.d + y * s.h + x * s.w);
    }
  }
  w.taps = desc.taps();
  w.k = desc.cin_per_group();
  w.row_stride = s.i;
  w.tap_offsets = offsets.data();
  if (!rows) return pack_u8(kernels, w);
  // A row of the kernel is one tap of kW Cin values.
  std::vector<std::int32_t> ordered;
  for (const std::ptrdiff_t offset : offsets) {
    for (std::int64_t i = 0; i < w.k; ++i) {
      for (std::int64_t o = 0; o < w.columns; ++o)
        ordered.push_back(weights[offset + i * s.i + o * s.o]);
    }
  }
  w.taps = desc.kD * desc.kH;
  w.k *= desc.kW;
  w.b = ordered.data();
  w.row_stride = w.columns;
  w.column_stride = 1;
  for (std::int64_t t = 0; t < w.taps; ++t)
    offsets[static_cast<std::size_t>(t)] = t * w.k * w.columns;
  return pack_u8(kernels, w);
}

std::size_t conv_u8_workspace_bytes(const ConvDesc& d) {
  std::int64_t bytes = outside_bytes(d);
  if (const RowsForm rows(d); in_rows(d) && rows.copies)
    bytes = checked_add(bytes, checked_mul(d.N * d.D * d.H, checked_mul(rows.desc.W, d.Cin)));
  return static_cast<std::size_t>(bytes);
}

const char* conv_u8_variant(const ConvDesc& d) {
  return is_depthwise(d) ? "depthwise" : in_rows(d) ? "rows" : "indirect";
}

void conv_u8(const ConvDesc& desc, const ConvU8& args, Parallel& parallel) {
  auto* const outside = static_cast<std::uint8_t*>(args.workspace);
  std::fill_n(outside, desc.Cin * desc.kW, args.outside);
  if (args.weights->depthwise) {
    // One group's rows would be those of a channel: the kernel reads all channels of a pixel.
    ConvDesc whole = desc;
    whole.group = 1;
    const PixelRows rows(whole, args.x, desc.Cin, outside);
    const std::int64_t work = std::max<std::int64_t>(1, desc.taps() * desc.Cout);
    const std::int64_t grain = std::max<std::int64_t>(1, kMinDepthwiseTask / work);
    parallel.run(desc.N * desc.D_out * desc.H_out * desc.W_out, grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   depthwise_pixels(desc, args, rows, begin, end);
                 });
    return;
  }
  const RowsForm rows(desc);
  const bool form = in_rows(desc);
  const std::uint8_t* x = args.x;
  if (form && rows.copies) {
    std::uint8_t* const copy = outside + outside_bytes(desc);
    pad_columns(desc, rows.desc.W, x, args.outside, copy, parallel);
    x = copy;
  }
  const ConvDesc& d = form ? rows.desc : desc;
  for (std::int64_t g = 0; g < desc.group; ++g) {
    ProductU8 p;
    p.weights = args.weights;
    p.group = g;
    p.rows = desc.N * desc.D_out * desc.H_out * desc.W_out;
    p.flip = args.flip;
    p.c = static_cast<char*>(args.y) +
          g * desc.cout_per_group() * (args.finish.store == StoreU8::Byte ? 1 : 4);
    p.ldc = desc.Cout;
    p.finish = args.finish;
    product_u8(p, PixelRows(d, x + g * desc.cin_per_group(), desc.Cin, outside), parallel);
  }
}

}  // namespace treadle::kernels
