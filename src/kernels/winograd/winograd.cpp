// Convolution 3x3 with stride 1 by Winograd's F(4x4, 3x3), a block of tiles at a time so that its
// 36 small matrix products find their operands in the second-level cache.
#include <algorithm>

#include "base/shape.hpp"
#include "kernels/conv/packed_weights.hpp"
#include "kernels/gemm/driver.hpp"
#include "kernels/winograd/kernel.hpp"

namespace treadle::kernels {

#define TREADLE_WINOGRAD(space, set) \
  namespace space {                  \
  WinogradKernels winograd();        \
  }
#include "kernels/winograd/table.inc"
#undef TREADLE_WINOGRAD

WinogradKernels winograd_kernels_for(Isa isa) {
#define TREADLE_WINOGRAD(space, set) \
  if (isa == Isa::set) return space::winograd();
#include "kernels/winograd/table.inc"
#undef TREADLE_WINOGRAD
  return generic::winograd();
}

namespace {

constexpr std::int64_t kMaxTiles = 192;
constexpr std::int64_t kRowUnit = 6;
constexpr int kOutPixels = kWinogradOut * kWinogradOut;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
std::int64_t round_up(std::int64_t a, std::int64_t unit) {
  return ceil_div(a, unit) * unit;
}

class WinogradConv final : public BoundConv {
 public:
  WinogradConv(const ConvDesc& d, SharedConvWeights weights)
      : BoundConv(d, std::move(weights)),
        kernels_(winograd_kernels_for(weights_->kernels->isa)),
        tiles_x_(ceil_div(d.W_out, kWinogradOut)),
        tiles_y_(ceil_div(d.H_out, kWinogradOut)),
        tiles_(d.N * tiles_x_ * tiles_y_),
        in_stride_(round_up(d.Cin, 16)),
        out_stride_(round_up(d.Cout, 16)) {
    const std::int64_t tile_bytes = kWinogradPlanes * 4 * (in_stride_ + out_stride_);
    std::int64_t most = cache_sizes().l2 * 7 / 8 / tile_bytes;
    // Below this many rows a product waits for its weights.
    const std::int64_t least = weights_->data.size() * 4 > 1 << 20 ? 48 : 24;
    most = round_up(std::clamp(most, least, kMaxTiles), kRowUnit);
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(tiles_, most));
    block_ =
        std::min(most, round_up(std::max<std::int64_t>(1, ceil_div(tiles_, blocks)), kRowUnit));
    in_floats_ = kWinogradPlanes * block_ * in_stride_;
    slot_floats_ = in_floats_ + (kWinogradPlanes * block_ + 1) * out_stride_;
  }

  const char* name() const override { return "winograd"; }
  std::size_t workspace_bytes(int threads) const override {
    return static_cast<std::size_t>(checked_mul(slot_floats_ * 4, threads));
  }

  void run(const float* x, float* y, std::ptrdiff_t y_stride, const Epilogue& e, void* workspace,
           Parallel& parallel) const override {
    const int threads = parallel.threads();
    // Every thread gets work where there are tiles enough.
    const std::int64_t share = round_up(std::max<std::int64_t>(1, ceil_div(tiles_, threads)), 1);
    const std::int64_t step = threads == 1 ? block_ : std::min(block_, share);
    const std::int64_t blocks = ceil_div(tiles_, step);
    const std::int64_t slots = std::min<std::int64_t>(threads, blocks);
    parallel.run(slots, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        float* scratch = static_cast<float*>(workspace) + s * slot_floats_;
        for (std::int64_t b = blocks * s / slots; b < blocks * (s + 1) / slots; ++b) {
          run_block(b * step, std::min(step, tiles_ - b * step), x, y, y_stride, e, scratch);
        }
      }
    });
  }

 private:
  struct Place {
    std::int64_t image, y, x;  // of the tile's first output
  };
  Place place(std::int64_t tile) const {
    return {tile / tiles_x_ / tiles_y_, tile / tiles_x_ % tiles_y_ * kWinogradOut,
            tile % tiles_x_ * kWinogradOut};
  }

  void run_block(std::int64_t first, std::int64_t count, const float* x, float* y,
                 std::ptrdiff_t y_stride, const Epilogue& e, float* scratch) const {
    float* in = scratch;
    float* out = scratch + in_floats_;
    float* spare = out + kWinogradPlanes * block_ * out_stride_;
    for (std::int64_t t = 0; t < count; ++t) {
      const float* pixels[kWinogradPlanes];
      input_pixels(place(first + t), x, pixels);
      kernels_.input(pixels, desc_.Cin, in + t * in_stride_, block_ * in_stride_);
    }
    for (int plane = 0; plane < kWinogradPlanes; ++plane) {
      multiply(plane, in + plane * block_ * in_stride_, count, out + plane * block_ * out_stride_);
    }
    for (std::int64_t t = 0; t < count; ++t) {
      store(place(first + t), out + t * out_stride_, y, y_stride, e, spare);
    }
  }

  void input_pixels(const Place& at, const float* x, const float** pixels) const {
    const float* image = x + at.image * desc_.H * desc_.W * desc_.Cin;
    for (int i = 0; i < kWinogradPlanes; ++i) {
      const std::int64_t iy = at.y - desc_.pad_top + i / kWinogradIn;
      const std::int64_t ix = at.x - desc_.pad_left + i % kWinogradIn;
      const bool inside = iy >= 0 && iy < desc_.H && ix >= 0 && ix < desc_.W;
      pixels[i] = inside ? image + (iy * desc_.W + ix) * desc_.Cin : zeros();
    }
  }

  // out[count, Cout] = in[count, Cin] times one of the packed matrices.
  void multiply(int plane, const float* in, std::int64_t count, float* out) const {
    const DotKernels& dot = *weights_->kernels;
    const float* packed =
        weights_->data.data() + plane * static_cast<std::int64_t>(weights_->group_floats);
    const float* a[kMaxTiles];
    float* c[kMaxTiles];
    for (std::int64_t t = 0; t < count; ++t) c[t] = out + t * out_stride_;
    const std::int64_t parts =
        std::max<std::int64_t>(1, (desc_.Cin + dot.k_block / 2) / dot.k_block);
    DotTile tile;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t k = desc_.Cin * part / parts;
      tile.k = desc_.Cin * (part + 1) / parts - k;
      tile.add_c = part > 0;
      for (std::int64_t t = 0; t < count; ++t) a[t] = in + t * in_stride_ + k;
      for (std::int64_t column = 0; column < desc_.Cout;) {
        const int width = dot.panel_width(desc_.Cout - column);
        const int vectors = width / dot.lanes, height = dot.rows[vectors];
        tile.b = packed + column * desc_.Cin + k * width;
        tile.column = column;
        tile.n = width;  // out_stride_ leaves room for whole registers
        for (std::int64_t t = 0; t < count; t += height) {
          tile.a = a + t;
          tile.c = c + t;
          dot.tile[vectors][std::min<std::int64_t>(height, count - t)](tile);
        }
        column += width;
      }
    }
  }

  void store(const Place& at, const float* in, float* y, std::ptrdiff_t y_stride, const Epilogue& e,
             float* spare) const {
    float* c[kOutPixels];
    const float* residual[kOutPixels];
    for (int i = 0; i < kOutPixels; ++i) {
      const std::int64_t oy = at.y + i / kWinogradOut, ox = at.x + i % kWinogradOut;
      const bool inside = oy < desc_.H_out && ox < desc_.W_out;
      const std::int64_t pixel = (at.image * desc_.H_out + oy) * desc_.W_out + ox;
      c[i] = inside ? y + pixel * y_stride : spare;
      residual[i] = inside && e.residual ? e.residual + pixel * e.residual_stride : spare;
    }
    const bool pass = is_pass(e.act);
    DotTile tile;
    tile.c = c;
    tile.residual = e.residual && (!pass || e.residual_before_act) ? residual : nullptr;
    tile.bias = e.bias;
    tile.slope = e.slope;
    tile.residual_before_act = e.residual_before_act;
    tile.act = pass ? Act::None : e.act;
    tile.act_a = e.a;
    tile.act_b = e.b;
    kernels_.output(in, block_ * out_stride_, desc_.Cout, tile);
    for (int i = 0; pass && i < kOutPixels; ++i) {
      if (c[i] != spare) finish_row(e, c[i], e.residual ? residual[i] : nullptr, desc_.Cout);
    }
  }

  // As many zeros as there are input channels; they follow the weights.
  const float* zeros() const {
    return weights_->data.data() +
           kWinogradPlanes * static_cast<std::int64_t>(weights_->group_floats);
  }

  const WinogradKernels kernels_;
  const std::int64_t tiles_x_, tiles_y_, tiles_, in_stride_, out_stride_;
  std::int64_t block_ = 0, in_floats_ = 0, slot_floats_ = 0;
};

}  // namespace

const char* refuse_winograd(const ConvDesc& d, const ConvOptions& options, bool bound) {
  constexpr std::int64_t kLeastChannels = 32, kLeastSize = 12, kLeastTiles = 12;
  if (d.kH != 3 || d.kW != 3 || d.kD != 1) return "the kernel is not 3x3";
  if (d.stride_h != 1 || d.stride_w != 1 || d.dilation_h != 1 || d.dilation_w != 1) {
    return "strided or dilated";
  }
  if (d.group != 1) return "grouped";
  if (d.D != 1 || d.D_out != 1 || d.pad_front != 0) return "three-dimensional";
  if (bound) return nullptr;
  if (options.exact) return "only exact algorithms were asked for";
  if (d.Cin < kLeastChannels || d.Cout < kLeastChannels) return "too few channels";
  if (d.H_out < kLeastSize || d.W_out < kLeastSize) return "too small a map";
  if (d.N * d.H_out * d.W_out < kLeastTiles * kOutPixels) return "too few tiles";
  return nullptr;
}

std::unique_ptr<Conv> make_winograd(const ConvDesc& desc, SharedConvWeights weights) {
  return std::make_unique<WinogradConv>(desc, std::move(weights));
}

}  // namespace treadle::kernels
