// Convolution 3x3 with stride 1 by Winograd's F(4x4, 3x3). It reads the packed 3x3 weights that the
// direct algorithms read and transforms them as it runs: their transformed form is four times as
// large, and would come from memory more slowly than it is computed.
//
// A block of tiles is transformed at a time. Then, panel of output channels by panel and part of
// the input channels by part, the weights are transformed into a buffer that stays in the
// second-level cache and multiplied, 36 small products, into sums that stay there too, which become
// the outputs of the panel.
#include <algorithm>
#include <vector>

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
constexpr std::int64_t kLeastPart = 48;  // input channels whose weights are transformed together
constexpr std::int64_t kPad = 16;        // floats between planes, so that they differ in cache sets
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
        dot_(*weights_->kernels),
        kernels_(winograd_kernels_for(dot_.isa)),
        tiles_x_(ceil_div(d.W_out, kWinogradOut)),
        tiles_y_(ceil_div(d.H_out, kWinogradOut)),
        tiles_(d.N * tiles_x_ * tiles_y_),
        in_stride_(round_up(d.Cin, 16)) {
    std::int64_t widest = 0;
    for (std::int64_t column = 0; column < d.Cout; column += dot_.panel_width(d.Cout - column)) {
      panels_.push_back(column);
      widest = std::max<std::int64_t>(widest, dot_.panel_width(d.Cout - column));
    }
    panels_.push_back(d.Cout);
    out_stride_ = round_up(widest, 16);
    const std::int64_t cache = cache_sizes().l2 / 4;  // floats
    const std::int64_t part =
        std::max(kLeastPart, cache / 3 / (kWinogradPlanes * dot_.main_width()));
    parts_ = std::max<std::int64_t>(1, ceil_div(d.Cin, part));
    weight_plane_ = ceil_div(d.Cin, parts_) * out_stride_ + kPad;
    const std::int64_t chunks = parts_ * static_cast<std::int64_t>(panels_.size() - 1);
    keeps_weights_ = chunks * kWinogradPlanes * weight_plane_ <= cache * 5 / 8;
    weight_floats_ = (keeps_weights_ ? chunks : 1) * kWinogradPlanes * weight_plane_;
    block_ = block_size(cache);
    in_plane_ = block_ * in_stride_ + kPad;
    out_plane_ = block_ * out_stride_ + kPad;
    slot_floats_ = in_stride_ + out_stride_ + weight_floats_ +
                   kWinogradPlanes * round_up(in_plane_ + out_plane_, 16);
  }

  const char* name() const override { return "winograd"; }
  std::size_t workspace_bytes(int threads) const override {
    return static_cast<std::size_t>(checked_mul(slot_floats_ * 4, threads));
  }

  // A unit of work is a block of tiles and, where there are fewer blocks than threads, some of the
  // panels.
  void run(const float* x, float* y, std::ptrdiff_t y_stride, const Epilogue& e, void* workspace,
           Parallel& parallel) const override {
    const std::int64_t blocks = ceil_div(tiles_, block_), threads = parallel.threads();
    const auto panels = static_cast<std::int64_t>(panels_.size()) - 1;
    if (blocks == 0 || panels == 0) return;
    const std::int64_t groups = std::min(panels, ceil_div(threads, blocks));
    const std::int64_t units = blocks * groups, slots = std::min(threads, units);
    parallel.run(slots, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        Slot slot(*this, static_cast<float*>(workspace) + s * slot_floats_);
        for (std::int64_t u = units * s / slots; u < units * (s + 1) / slots; ++u) {
          const std::int64_t block = u % blocks, group = u / blocks;
          transform_inputs(block, x, slot);
          for (std::int64_t p = panels * group / groups; p < panels * (group + 1) / groups; ++p) {
            run_panel(block, p, slot, y, y_stride, e, group != slot.group);
          }
          slot.group = group;
        }
      }
    });
  }

 private:
  // The workspace of a thread.
  struct Slot {
    Slot(const WinogradConv& c, float* scratch)
        : zeros(scratch),
          spare(zeros + c.in_stride_),
          weights(spare + c.out_stride_),
          in(weights + c.weight_floats_),
          out(in + kWinogradPlanes * c.in_plane_) {
      std::fill_n(zeros, c.in_stride_, 0.0f);
    }
    float *zeros, *spare, *weights, *in, *out;
    std::int64_t group = -1;  // whose weights lie transformed, where all are kept
  };

  struct Place {
    std::int64_t image, y, x;  // of the tile's first output
  };
  Place place(std::int64_t tile) const {
    return {tile / tiles_x_ / tiles_y_, tile / tiles_x_ % tiles_y_ * kWinogradOut,
            tile % tiles_x_ * kWinogradOut};
  }

  // Tiles of a block: as many as leave weights and sums in the cache, and inputs too where that
  // does not cost another transformation of the weights.
  std::int64_t block_size(std::int64_t cache) const {
    const std::int64_t sums = kWinogradPlanes * out_stride_, inputs = kWinogradPlanes * in_stride_;
    const std::int64_t room = cache * 7 / 8 - weight_floats_;
    const std::int64_t fit = room / (keeps_weights_ ? sums + inputs : sums);
    const std::int64_t least = keeps_weights_ ? 24 : 48;
    const std::int64_t most = round_up(std::clamp(fit, least, kMaxTiles), kRowUnit);
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(tiles_, most));
    return std::min(most, round_up(std::max<std::int64_t>(1, ceil_div(tiles_, blocks)), kRowUnit));
  }

  std::int64_t tiles_of(std::int64_t block) const {
    return std::min(block_, tiles_ - block * block_);
  }

  void transform_inputs(std::int64_t block, const float* x, const Slot& slot) const {
    for (std::int64_t t = 0; t < tiles_of(block); ++t) {
      const Place at = place(block * block_ + t);
      const float* image = x + at.image * desc_.H * desc_.W * desc_.Cin;
      const float* pixels[kWinogradPlanes];
      for (int i = 0; i < kWinogradPlanes; ++i) {
        const std::int64_t iy = at.y - desc_.pad_top + i / kWinogradIn;
        const std::int64_t ix = at.x - desc_.pad_left + i % kWinogradIn;
        const bool inside = iy >= 0 && iy < desc_.H && ix >= 0 && ix < desc_.W;
        pixels[i] = inside ? image + (iy * desc_.W + ix) * desc_.Cin : slot.zeros;
      }
      kernels_.input(pixels, desc_.Cin, slot.in + t * in_stride_, in_plane_);
    }
  }

  // `transform`: kept weights are not there yet.
  void run_panel(std::int64_t block, std::int64_t panel, const Slot& slot, float* y,
                 std::ptrdiff_t y_stride, const Epilogue& epilogue, bool transform) const {
    const std::int64_t column = panels_[static_cast<std::size_t>(panel)];
    const std::int64_t columns = panels_[static_cast<std::size_t>(panel) + 1] - column;
    const int width = dot_.panel_width(desc_.Cout - column);
    const std::int64_t count = tiles_of(block);
    const float* packed = weights_->data.data() + column * desc_.Cin * 9;
    for (std::int64_t part = 0; part < parts_; ++part) {
      const std::int64_t k = desc_.Cin * part / parts_;
      const std::int64_t depth = desc_.Cin * (part + 1) / parts_ - k;
      const std::int64_t chunk = keeps_weights_ ? panel * parts_ + part : 0;
      float* weights = slot.weights + chunk * kWinogradPlanes * weight_plane_;
      if (!keeps_weights_ || transform) {
        kernels_.weights(packed + k * width, desc_.Cin * width, depth * width, weights,
                         weight_plane_);
      }
      multiply(slot.in + k, count, depth, weights, width, slot.out, part > 0);
    }
    const Epilogue e = columns_from(epilogue, column);
    for (std::int64_t t = 0; t < count; ++t) {
      store(place(block * block_ + t), slot.out + t * out_stride_, columns, y + column, y_stride, e,
            slot.spare);
    }
  }

  // The 36 products out[count, width] = in[count, depth] weights[depth, width].
  void multiply(const float* in, std::int64_t count, std::int64_t depth, const float* weights,
                int width, float* out, bool add) const {
    const float* a[kMaxTiles];
    float* c[kMaxTiles];
    const int vectors = width / dot_.lanes, height = dot_.rows[vectors];
    DotTile tile;
    tile.k = depth;
    tile.n = width;
    tile.add_c = add;
    for (int plane = 0; plane < kWinogradPlanes; ++plane) {
      for (std::int64_t t = 0; t < count; ++t) a[t] = in + plane * in_plane_ + t * in_stride_;
      for (std::int64_t t = 0; t < count; ++t) c[t] = out + plane * out_plane_ + t * out_stride_;
      tile.b = weights + plane * weight_plane_;
      for (std::int64_t t = 0; t < count; t += height) {
        tile.a = a + t;
        tile.c = c + t;
        dot_.tile[vectors][std::min<std::int64_t>(height, count - t)](tile);
      }
    }
  }

  void store(const Place& at, const float* in, std::int64_t columns, float* y,
             std::ptrdiff_t y_stride, const Epilogue& e, float* spare) const {
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
    kernels_.output(in, out_plane_, columns, tile);
    for (int i = 0; pass && i < kOutPixels; ++i) {
      if (c[i] != spare) finish_rows(e, c + i, residual + i, 1, 0, columns);
    }
  }

  const DotKernels& dot_;
  const WinogradKernels kernels_;
  const std::int64_t tiles_x_, tiles_y_, tiles_, in_stride_;
  std::int64_t parts_ = 1;  // of the input channels: the weights of one lie transformed at a time
  std::vector<std::int64_t> panels_;  // first columns, then Cout
  // Whether the transformed weights of all panels fit the cache, so that each thread makes them
  // once a run and not once a block.
  bool keeps_weights_ = false;
  std::int64_t out_stride_ = 0, weight_plane_ = 0, in_plane_ = 0,
               out_plane_ = 0;  // floats between planes
  std::int64_t weight_floats_ = 0, block_ = 0, slot_floats_ = 0;
};

}  // namespace

const char* refuse_winograd(const ConvDesc& d, const ConvOptions& options) {
  constexpr std::int64_t kLeastChannels = 32, kLeastSize = 12, kLeastTiles = 12;
  if (d.kH != 3 || d.kW != 3 || d.kD != 1) return "the kernel is not 3x3";
  if (d.stride_h != 1 || d.stride_w != 1 || d.dilation_h != 1 || d.dilation_w != 1) {
    return "strided or dilated";
  }
  if (d.group != 1) return "grouped";
  if (d.D != 1 || d.D_out != 1 || d.pad_front != 0) return "three-dimensional";
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
