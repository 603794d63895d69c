// Depthwise convolution: every output channel reads one input channel.
#include <algorithm>

#include "base/shape.hpp"
#include "kernels/conv/packed_weights.hpp"
#include "kernels/depthwise/kernel.hpp"
#include "kernels/gemm/driver.hpp"

namespace treadle::kernels {

#define TREADLE_DEPTHWISE(space, set) \
  namespace space {                   \
  DepthwiseKernels depthwise();       \
  }
#include "kernels/depthwise/table.inc"
#undef TREADLE_DEPTHWISE

const DepthwiseKernels& depthwise_kernels_for(Isa isa) {
#define TREADLE_DEPTHWISE(space, set)                           \
  if (isa == Isa::set) {                                        \
    static const DepthwiseKernels kernels = space::depthwise(); \
    return kernels;                                             \
  }
#include "kernels/depthwise/table.inc"
#undef TREADLE_DEPTHWISE
  return depthwise_kernels_for(Isa::Generic);
}

namespace {

constexpr std::int64_t kMinTask = 1 << 17;  // multiply-adds worth a thread
constexpr int kMaxColumnPointers = 512;
constexpr std::int64_t kMaxChunkTaps = 64;

std::int64_t padded_channels(std::int64_t channels, int lanes) {
  return checked_add(channels, lanes - 1) / lanes * lanes;
}

// One output line: where its input rows are and where it goes.
struct Line {
  std::int64_t image = 0, z0 = 0, y0 = 0;  // of the kernel's first tap
  std::int64_t first = 0;                  // index of its first output pixel
};

class DepthwiseConv final : public BoundConv {
 public:
  DepthwiseConv(const ConvDesc& desc, SharedConvWeights weights)
      : BoundConv(desc, std::move(weights)),
        kernels_(depthwise_kernels_for(weights_->kernels->isa)),
        weight_stride_(padded_channels(desc.Cout, kernels_.lanes)) {
    const bool regular = desc.Cout == desc.Cin && desc.dilation_w == 1 && desc.stride_w <= 2;
    if (regular && desc.kW == 3) group_ = kernels_.width3[desc.stride_w];
    if (regular && desc.kW == 5) group_ = kernels_.width5[desc.stride_w];
    columns_ = (kMaxPixels - 1) * desc.stride_w + desc.kW;
    if (group_ && desc.kD * desc.kH > kMaxColumnPointers / columns_) group_ = nullptr;
  }
  const char* name() const override { return "depthwise"; }
  std::size_t workspace_bytes(int) const override { return 0; }

  void run(const float* x, float* y, std::ptrdiff_t y_stride, const Epilogue& e, void*,
           Parallel& parallel) const override {
    const ConvDesc& d = desc_;
    const std::int64_t lines = d.N * d.D_out * d.H_out;
    if (lines == 0 || d.W_out == 0 || d.Cout == 0) return;
    const std::int64_t work = std::max<std::int64_t>(1, d.W_out * d.Cout * d.taps());
    parallel.run(lines, (kMinTask + work - 1) / work, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) run_line(line_at(i), x, y, y_stride, e);
    });
  }

 private:
  Line line_at(std::int64_t i) const {
    Line line;
    line.y0 = i % desc_.H_out * desc_.stride_h - desc_.pad_top;
    line.z0 = i / desc_.H_out % desc_.D_out * desc_.stride_d - desc_.pad_front;
    line.image = i / desc_.H_out / desc_.D_out;
    line.first = i * desc_.W_out;
    return line;
  }

  // The input line under kernel row `row` (d and h together); null outside.
  const float* input_line(const Line& line, std::int64_t row, const float* x) const {
    const std::int64_t z = line.z0 + row / desc_.kH * desc_.dilation_d;
    const std::int64_t y = line.y0 + row % desc_.kH * desc_.dilation_h;
    if (z < 0 || z >= desc_.D || y < 0 || y >= desc_.H) return nullptr;
    return x + ((line.image * desc_.D + z) * desc_.H + y) * desc_.W * desc_.Cin;
  }

  void run_line(const Line& line, const float* x, float* y, std::ptrdiff_t y_stride,
                const Epilogue& e) const {
    for (std::int64_t p = 0; p < desc_.W_out;) {
      if (group_) {
        // Two even groups rather than a full one and a remainder of one or two pixels.
        const std::int64_t left = desc_.W_out - p;
        const std::int64_t most = kernels_.pixels;
        std::int64_t pixels = std::min(left, most);
        if (left > most && left < 2 * most) pixels = (left + 1) / 2;
        run_group(line, p, pixels, x, y, y_stride, e);
        p += pixels;
      } else if (desc_.Cout == desc_.Cin) {
        run_pixel(line, p++, x, y, y_stride, e);
      } else {
        run_multiplied(line, p++, x, y, y_stride, e);
      }
    }
  }

  struct Rows {
    float* c[kMaxPixels];
    const float* residual[kMaxPixels];
  };

  void set_tile(DotTile& tile, Rows& rows, std::int64_t first, std::int64_t pixels, float* y,
                std::ptrdiff_t y_stride, const Epilogue& e) const {
    const bool pass = is_pass(e.act);
    for (std::int64_t p = 0; p < pixels; ++p) {
      rows.c[p] = y + (first + p) * y_stride;
      rows.residual[p] = e.residual ? e.residual + (first + p) * e.residual_stride : nullptr;
    }
    tile.c = rows.c;
    tile.residual = e.residual && (!pass || e.residual_before_act) ? rows.residual : nullptr;
    tile.bias = e.bias;
    tile.slope = e.slope;
    tile.residual_before_act = e.residual_before_act;
    tile.act = pass ? Act::None : e.act;
    tile.act_a = e.a;
    tile.act_b = e.b;
  }

  void finish(const Rows& rows, std::int64_t pixels, const Epilogue& e) const {
    if (is_pass(e.act)) finish_rows(e, rows.c, rows.residual, pixels, 0, desc_.Cout);
  }

  void run_group(const Line& line, std::int64_t first, std::int64_t pixels, const float* x,
                 float* y, std::ptrdiff_t y_stride, const Epilogue& e) const {
    const std::int64_t columns = (pixels - 1) * desc_.stride_w + desc_.kW;
    const std::int64_t start = first * desc_.stride_w - desc_.pad_left;
    const float* pointers[kMaxColumnPointers];
    const float** to = pointers;
    DepthwiseGroup g;
    g.kernel_rows = desc_.kD * desc_.kH;
    for (std::int64_t row = 0; row < g.kernel_rows; ++row, to += columns) {
      const float* in = input_line(line, row, x);
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t column = start + c;
        to[c] = in && column >= 0 && column < desc_.W ? in + column * desc_.Cin : zeros();
      }
    }
    g.columns = pointers;
    g.channels = desc_.Cout;
    g.weights = weights_->data.data();
    g.weight_stride = weight_stride_;
    Rows rows;
    set_tile(g.tile, rows, line.first + first, pixels, y, y_stride, e);
    group_[pixels](g);
    finish(rows, pixels, e);
  }

  // Any kernel: the taps that lie inside, a chunk at a time.
  void run_pixel(const Line& line, std::int64_t column, const float* x, float* y,
                 std::ptrdiff_t y_stride, const Epilogue& e) const {
    DepthwiseGroup g;
    const float* pointers[kMaxChunkTaps];
    g.columns = pointers;
    g.channels = desc_.Cout;
    g.weight_stride = weight_stride_;
    Rows rows;
    DotTile last;
    set_tile(last, rows, line.first + column, 1, y, y_stride, e);
    const std::int64_t taps = desc_.taps();
    for (std::int64_t tap = 0; tap < taps; tap += kMaxChunkTaps) {
      g.kernel_rows = std::min(kMaxChunkTaps, taps - tap);
      for (std::int64_t i = 0; i < g.kernel_rows; ++i) {
        const float* in = input_pixel(line, column, tap + i, x);
        pointers[i] = in ? in : zeros();
      }
      g.weights = weights_->data.data() + tap * weight_stride_;
      if (tap + kMaxChunkTaps >= taps) {
        g.tile = last;
      } else {
        g.tile.c = rows.c;
      }
      g.tile.add_c = tap > 0;
      kernels_.any(g);
    }
    finish(rows, 1, e);
  }

  const float* input_pixel(const Line& line, std::int64_t column, std::int64_t tap,
                           const float* x) const {
    const float* in = input_line(line, tap / desc_.kW, x);
    const std::int64_t at =
        column * desc_.stride_w - desc_.pad_left + tap % desc_.kW * desc_.dilation_w;
    return in && at >= 0 && at < desc_.W ? in + at * desc_.Cin : nullptr;
  }

  // Several output channels per input channel.
  void run_multiplied(const Line& line, std::int64_t column, const float* x, float* y,
                      std::ptrdiff_t y_stride, const Epilogue& e) const {
    constexpr std::int64_t kChunk = 64;
    const std::int64_t multiplier = desc_.Cout / desc_.Cin;
    Rows rows;
    DotTile tile;
    set_tile(tile, rows, line.first + column, 1, y, y_stride, e);
    for (std::int64_t o = 0; o < desc_.Cout; o += kChunk) {
      float sums[kChunk] = {};
      tile.n = std::min(kChunk, desc_.Cout - o);
      for (std::int64_t tap = 0; tap < desc_.taps(); ++tap) {
        const float* in = input_pixel(line, column, tap, x);
        if (!in) continue;
        const float* w = weights_->data.data() + tap * weight_stride_ + o;
        for (std::int64_t j = 0; j < tile.n; ++j) sums[j] += in[(o + j) / multiplier] * w[j];
      }
      tile.column = o;
      tile.bias = e.bias ? e.bias + o : nullptr;
      tile.slope = e.slope ? e.slope + o : nullptr;
      finish_sums(tile, sums, 1, kChunk);
    }
    finish(rows, 1, e);
  }

  // As many zeros as there are channels; they follow the weights.
  const float* zeros() const { return weights_->data.data() + desc_.taps() * weight_stride_; }

  const DepthwiseKernels& kernels_;
  const std::int64_t weight_stride_;
  const DepthwiseFn* group_ = nullptr;
  std::int64_t columns_ = 0;
};

}  // namespace

void pack_depthwise(PackedConvWeights& out, const ConvDesc& d, const float* weights,
                    const WeightStrides& s) {
  const std::int64_t stride =
      padded_channels(d.Cout, depthwise_kernels_for(out.kernels->isa).lanes);
  const std::int64_t total = checked_mul(stride, checked_add(d.taps(), 1));
  out.data = AlignedFloats(static_cast<std::size_t>(total));
  std::fill_n(out.data.data(), total, 0.0f);
  for (std::int64_t tap = 0; tap < d.taps(); ++tap) {
    const float* w = weights + tap / d.kW / d.kH * s.d + tap / d.kW % d.kH * s.h + tap % d.kW * s.w;
    for (std::int64_t o = 0; o < d.Cout; ++o) out.data.data()[tap * stride + o] = w[o * s.o];
  }
}

const char* refuse_depthwise(const ConvDesc& d, const ConvOptions&) {
  if (d.group != d.Cin || d.Cin == 0) return "not one group per input channel";
  if (d.Cin == 1) return "a single input channel";
  return nullptr;
}

std::unique_ptr<Conv> make_depthwise(const ConvDesc& desc, SharedConvWeights weights) {
  return std::make_unique<DepthwiseConv>(desc, std::move(weights));
}

}  // namespace treadle::kernels
