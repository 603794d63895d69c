// The launches of convolutions.
#include <algorithm>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "gpu/conv_plan.hpp"

namespace treadle::gpu {

namespace {

using kernels::ConvDesc;

constexpr std::uint32_t kThreads = 128;  // a group, of kernels without tiles

tk::tk_i32 narrow(std::int64_t v) {
  check(v >= -(std::int64_t{1} << 31) && v < (std::int64_t{1} << 31), ErrorKind::Unsupported,
        "convolution on a device: a size or count of {}, beyond 31 bits", v);
  return static_cast<tk::tk_i32>(v);
}
tk::tk_divisor divisor(std::int64_t v) {
  return make_divisor(static_cast<std::uint32_t>(narrow(v)));
}
std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

tk::WindowParams window_of(const ConvDesc& d) {
  tk::WindowParams w{};
  w.H = narrow(d.H);
  w.W = narrow(d.W);
  w.kH = narrow(d.kH);
  w.kW = narrow(d.kW);
  w.sH = narrow(d.stride_h);
  w.sW = narrow(d.stride_w);
  w.dH = narrow(d.dilation_h);
  w.dW = narrow(d.dilation_w);
  w.pT = narrow(d.pad_top);
  w.pL = narrow(d.pad_left);
  w.pixel = narrow(d.Cin);
  return w;
}

// A row of the window is kW C neighbouring elements: see tk_conv_scalars.
void fold(const ConvDesc& d, tk::ConvGemmParams& p) {
  if (d.group != 1 || (d.dilation_w != 1 && d.kW > 1)) return;
  p.folded = 1;
  p.C = narrow(d.Cin * d.kW);
  p.window.W = narrow(d.W * d.Cin);
  p.window.sW = narrow(d.stride_w * d.Cin);
  p.window.pL = narrow(d.pad_left * d.Cin);
  p.window.kW = p.window.dW = p.window.pixel = 1;
}

}  // namespace

PreparedLaunch ConvPlan::direct(const ProductAddresses& at, const char* label) const {
  const ConvDesc& d = desc_;
  const std::int64_t columns = divide_up(d.W_out, tk::kDirectPixelsAThread);
  tk::ConvDirectParams p{};
  p.epilogue = epilogue_params(epilogue_, type_, d.Cout, d.Cout, 1, at);
  p.window = window_of(d);
  p.channels = divisor(d.Cout);
  p.columns = divisor(columns);
  p.rows = divisor(d.H_out);
  p.slices = divisor(d.D_out);
  p.group = divisor(d.cout_per_group());
  p.threads = narrow(checked_mul(checked_mul(d.N * d.D_out, d.H_out * columns), d.Cout));
  p.oW = narrow(d.W_out);
  p.C = narrow(d.cin_per_group());
  p.D = narrow(d.D);
  p.kD = narrow(d.kD);
  p.sD = narrow(d.stride_d);
  p.dD = narrow(d.dilation_d);
  p.pD = narrow(d.pad_front);
  return {method_.kernel,
          {groups_of(p.threads, kThreads)},
          {kThreads},
          {at.left, at.right, at.bias, at.slope, at.residual, at.y},
          p,
          label};
}

tk::DepthwiseParams ConvPlan::depthwise_params(const ProductAddresses& at, std::int64_t channels,
                                               std::int64_t columns) const {
  const ConvDesc& d = desc_;
  const std::int64_t rows = divide_up(d.H_out, method_.rows);
  tk::DepthwiseParams p{};
  p.epilogue = epilogue_params(epilogue_, type_, d.Cout, d.Cout, method_.vector, at);
  p.window = window_of(d);
  p.channels = divisor(channels);
  p.columns = divisor(columns);
  p.rows = divisor(rows);
  p.multiplier = divisor(d.cout_per_group());
  p.threads = narrow(checked_mul(checked_mul(d.N, rows * columns), channels));
  p.oH = narrow(d.H_out);
  p.oW = narrow(d.W_out);
  p.weights = narrow(d.Cout);
  p.down = method_.rows;
  return p;
}

PreparedLaunch ConvPlan::depthwise(const ProductAddresses& at, const char* label) const {
  const tk::DepthwiseParams p =
      depthwise_params(at, desc_.Cout / method_.vector, divide_up(desc_.W_out, method_.pixels));
  return {method_.kernel,
          {groups_of(p.threads, kThreads)},
          {kThreads},
          {at.left, at.right, at.bias, at.slope, at.residual, at.y},
          p,
          label};
}

PreparedLaunch ConvPlan::ring(const ProductAddresses& at, const char* label) const {
  const ConvDesc& d = desc_;
  const RingShape shape = ring_shape(d, type_);
  tk::DepthwiseRingParams p{};
  p.epilogue = epilogue_params(epilogue_, type_, d.Cout, d.Cout, method_.vector, at);
  p.window = window_of(d);
  p.slabs = divisor(shape.slabs);
  p.period = divisor(shape.period);
  p.oH = narrow(d.H_out);
  p.oW = narrow(d.W_out);
  p.channels = narrow(d.Cout);
  p.all_images = narrow(d.N);
  p.images = narrow(shape.images);
  p.down = method_.rows;
  p.x_row = narrow(d.W * d.Cin);
  p.y_row = narrow(checked_mul(d.W_out, p.epilogue.y_stride));
  p.x_step = narrow(d.Cin * (32 * 16 / tk::kRingBytes));
  return {method_.kernel,
          {static_cast<std::uint32_t>(divide_up(shape.rows, method_.rows)),
           static_cast<std::uint32_t>(shape.slabs * shape.tiles)},
          {static_cast<std::uint32_t>(shape.warps * 32)},
          {at.left, at.right, at.bias, at.y},
          p,
          label};
}

PreparedLaunch ConvPlan::tiled(const ProductAddresses& at, DeviceAddress workspace,
                               const char* label) const {
  const ConvDesc& d = desc_;
  const Tile& tile = *method_.tile.tile;
  tk::ConvGemmParams p{};
  p.epilogue = epilogue_params(epilogue_, type_, d.cout_per_group(), d.Cout, 4, at);
  p.window = window_of(d);
  p.M = narrow(d.N * d.H_out * d.W_out);
  p.N = narrow(d.cout_per_group());
  p.K = narrow(d.taps() * d.cin_per_group());
  p.C = narrow(d.cin_per_group());
  p.padded_k = narrow(divide_up(p.K, 32) * 32);
  p.padded_n = narrow(divide_up(p.N, 4) * 4);
  p.split_k = narrow(method_.tile.split_k);
  p.outputs = narrow(d.Cout);
  if (method_.form == Form::Any) fold(d, p);
  const std::int64_t tiles_n = divide_up(p.N, tile.n);
  p.tiles = divisor(tiles_n);
  p.splits = divisor(method_.tile.splits);
  p.columns = divisor(d.W_out);
  p.rows = divisor(d.H_out);
  p.channels = divisor(p.C);
  p.taps = divisor(p.window.kW);
  const std::int64_t groups = narrow(divide_up(p.M, tile.m) * tiles_n);
  return {method_.kernel,
          {static_cast<std::uint32_t>(groups), 1,
           static_cast<std::uint32_t>(d.group * method_.tile.splits)},
          {static_cast<std::uint32_t>(tile.threads)},
          {at.left, at.right, at.bias, at.slope, at.residual, workspace, at.y},
          p,
          label};
}

PreparedLaunches ConvPlan::prepare(const ProductAddresses& addresses, DeviceAddress workspace,
                                   const char* label) const {
  const ConvDesc& d = desc_;
  PreparedLaunches all;
  if (d.N == 0 || d.D_out == 0 || d.H_out == 0 || d.W_out == 0) return all;
  const ProductAddresses at = filled(addresses, epilogue_);
  if (method_.form == Form::Direct) {
    all.push_back(direct(at, label));
  } else if (method_.form == Form::Depthwise) {
    all.push_back(depthwise(at, label));
  } else if (method_.form == Form::Ring) {
    all.push_back(ring(at, label));
  } else if (method_.tile.splits == 1) {
    all.push_back(tiled(at, unused_floats(at.y), label));
  } else {
    all.push_back(tiled(at, workspace, label));
    all.push_back(sum_of_splits(epilogue_, type_, d.N * d.H_out * d.W_out, d.Cout,
                                method_.tile.splits, workspace, at, label));
  }
  return all;
}

void ConvPlan::run(Queue& queue, const ProductAddresses& at, DeviceAddress workspace,
                   const char* label) const {
  for (const PreparedLaunch& l : prepare(at, workspace, label)) queue.launch(l.get());
}

}  // namespace treadle::gpu
