#include "kernels/conv/dot_conv.hpp"

#include <algorithm>

#include "base/shape.hpp"
#include "kernels/conv/conv_rows.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/pack.hpp"

namespace treadle::kernels {
namespace {

class DotConv : public BoundConv {
 public:
  using BoundConv::BoundConv;

 protected:
  // The product of all groups over rows that `desc` describes.
  void run_groups(const ConvDesc& desc, const float* x, std::int64_t pixel_stride, float* y,
                  std::ptrdiff_t y_stride, const Epilogue& epilogue, Parallel& parallel) const {
    for (std::int64_t g = 0; g < desc.group; ++g) {
      const std::int64_t first = g * desc.cout_per_group();
      const ConvRows rows(desc, x + g * desc.cin_per_group(), pixel_stride);
      const Epilogue e = columns_from(epilogue, first);
      DotProblem p;
      p.kernels = weights_->kernels;
      p.rows = desc.N * desc.D_out * desc.H_out * desc.W_out;
      p.columns = desc.cout_per_group();
      p.taps = desc.taps();
      p.k = desc.cin_per_group();
      p.packed = weights_->data.data() + g * static_cast<std::int64_t>(weights_->group_floats);
      p.c = y + first;
      p.ldc = y_stride;
      p.epilogue = &e;
      dot_blocked(p, rows, parallel);
    }
  }
};

class IndirectConv final : public DotConv {
 public:
  using DotConv::DotConv;
  const char* name() const override { return "indirect"; }
  std::size_t workspace_bytes(int) const override { return 0; }
  void run(const float* x, float* y, std::ptrdiff_t y_stride, const Epilogue& e, void*,
           Parallel& parallel) const override {
    run_groups(desc_, x, desc_.Cin, y, y_stride, e, parallel);
  }
};

class PointwiseConv final : public BoundConv {
 public:
  using BoundConv::BoundConv;
  const char* name() const override { return "pointwise"; }
  std::size_t workspace_bytes(int threads) const override {
    return gemm_workspace_bytes(product(nullptr), threads);
  }
  void run(const float* x, float* y, std::ptrdiff_t y_stride, const Epilogue& e, void* workspace,
           Parallel& parallel) const override {
    GemmArgs g = product(x);
    g.c = y;
    g.ldc = y_stride;
    g.epilogue = e;
    gemm_with(*weights_->kernels, g, workspace, parallel);
  }

 private:
  GemmArgs product(const float* x) const {
    GemmArgs g;
    g.m = desc_.N * desc_.D * desc_.H * desc_.W;
    g.n = desc_.Cout;
    g.k = desc_.Cin;
    g.a = x;
    g.lda = desc_.Cin;
    g.packed_b = weights_->data.data();
    return g;
  }
};

class RowsConv final : public DotConv {
 public:
  RowsConv(const ConvDesc& desc, SharedConvWeights weights)
      : DotConv(desc, std::move(weights)), rows_(desc) {}
  const char* name() const override { return "rows"; }
  std::size_t workspace_bytes(int) const override {
    if (!rows_.copies) return 0;
    const std::int64_t pixels =
        checked_mul(desc_.N * desc_.D * desc_.H, checked_mul(rows_.desc.W, desc_.Cin));
    return static_cast<std::size_t>(checked_mul(pixels, sizeof(float)));
  }
  void run(const float* x, float* y, std::ptrdiff_t y_stride, const Epilogue& e, void* workspace,
           Parallel& parallel) const override {
    if (rows_.copies) {
      pad_columns(desc_, rows_.desc.W, x, 0.0f, static_cast<float*>(workspace), parallel);
      x = static_cast<const float*>(workspace);
    }
    run_groups(rows_.desc, x, desc_.Cin, y, y_stride, e, parallel);
  }

 private:
  const RowsForm rows_;
};

}  // namespace

void ConvRows::inputs(std::int64_t first, std::int64_t count, const KRange& range,
                      const float** out, int) const {
  conv_rows(desc_, x_, pixel_stride_, zero_row(), first, count, range, out);
}

const float* zero_row() {
  alignas(64) static const float zeros[1024] = {};
  return zeros;
}

void pack_dot(PackedConvWeights& out, const ConvDesc& d, const float* weights,
              const WeightStrides& s) {
  std::vector<std::ptrdiff_t> offsets;
  for (std::int64_t z = 0; z < d.kD; ++z) {
    for (std::int64_t y = 0; y < d.kH; ++y) {
      for (std::int64_t x = 0; x < d.kW; ++x) offsets.push_back(z * s.d + y * s.h + x * s.w);
    }
  }
  const std::int64_t k = d.cin_per_group(), columns = d.cout_per_group();
  out.group_floats = packed_floats(*out.kernels, checked_mul(d.taps(), k), columns);
  const std::int64_t total = checked_mul(static_cast<std::int64_t>(out.group_floats), d.group);
  out.data = AlignedFloats(static_cast<std::size_t>(total));
  for (std::int64_t g = 0; g < d.group; ++g) {
    PackSource source;
    source.b = weights + g * columns * s.o;
    source.taps = d.taps();
    source.k = k;
    source.columns = columns;
    source.row_stride = s.i;
    source.column_stride = s.o;
    source.tap_offsets = offsets.data();
    pack_panels(*out.kernels, source,
                out.data.data() + g * static_cast<std::int64_t>(out.group_floats));
  }
}

const char* refuse_pointwise(const ConvDesc& d, const ConvOptions&) {
  if (d.taps() != 1) return "the kernel has more than one tap";
  if (d.group != 1) return "grouped";
  if (d.stride_d != 1 || d.stride_h != 1 || d.stride_w != 1) return "strided";
  if (d.pad_front != 0 || d.pad_top != 0 || d.pad_left != 0 || d.D_out != d.D || d.H_out != d.H ||
      d.W_out != d.W) {
    return "padded";
  }
  return nullptr;
}

std::unique_ptr<Conv> make_pointwise(const ConvDesc& desc, SharedConvWeights weights) {
  return std::make_unique<PointwiseConv>(desc, std::move(weights));
}

const char* refuse_rows(const ConvDesc& d, const ConvOptions&) {
  constexpr std::int64_t kMostChannels = 8;
  if (d.group != 1) return "grouped";
  if (d.kW == 1) return "the kernel is one column wide";
  if (d.dilation_w != 1) return "dilated along the width";
  if (d.Cin > kMostChannels) return "more than 8 input channels";
  return nullptr;
}

std::unique_ptr<Conv> make_rows(const ConvDesc& desc, SharedConvWeights weights) {
  return std::make_unique<RowsConv>(desc, std::move(weights));
}

const char* refuse_indirect(const ConvDesc&, const ConvOptions&) {
  return nullptr;
}

std::unique_ptr<Conv> make_indirect(const ConvDesc& desc, SharedConvWeights weights) {
  return std::make_unique<IndirectConv>(desc, std::move(weights));
}

}  // namespace treadle::kernels
