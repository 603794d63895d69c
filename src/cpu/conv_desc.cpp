#include "cpu/conv_desc.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "ops/conv_transpose.hpp"

namespace treadle::cpu {
namespace {

constexpr std::int64_t kTypicalSize = 320;
constexpr std::int64_t kLargestGuess = 1 << 12;

bool channels_last(const Operator& op) {
  if (const auto* conv = op.as<ops::Conv>()) return conv->layout == ops::Layout::ChannelsLast;
  const auto* conv = op.as<ops::ConvTranspose>();
  return conv && conv->layout == ops::Layout::ChannelsLast;
}

// Position of spatial axis 0 in the weights.
std::size_t first_kernel_axis(ops::WeightLayout l) {
  return l == ops::WeightLayout::HWIO ? 0 : l == ops::WeightLayout::OHWI ? 1 : 2;
}

// The smallest size of spatial axis i that the kernel fits without padding.
std::int64_t smallest(const ops::Conv& op, const Shape& w, std::size_t i) {
  const std::int64_t kernel = w[first_kernel_axis(op.weight_layout) + i];
  return checked_add(checked_mul(op.dilations[i], kernel - 1), 1);
}

}  // namespace

bool has_conv_kernel(const Graph& graph, const Node& node, std::span<const DType> dtypes) {
  if (!channels_last(*node.op)) return false;
  const Fact& x = graph.fact(node.inputs[0]);
  const bool bias = node.inputs.size() > 2 && node.inputs[2].present();
  return std::ranges::find(dtypes, x.dtype) != dtypes.end() && x.rank() >= 3 && x.rank() <= 5 &&
         x.shape.back().is_const() && graph.fact(node.inputs[1]).value &&
         (!bias || graph.fact(node.inputs[2]).value);
}

std::int64_t guess(const Dim& d) {
  if (d.is_const()) return d.value();
  std::vector<std::string> names;
  d.collect_symbols(names);
  SymbolValues values;
  for (const auto& n : names) values[n] = kTypicalSize;
  try {
    return std::clamp<std::int64_t>(d.eval(values), 1, kLargestGuess);
  } catch (const Error&) {
    return kTypicalSize;
  }
}

kernels::ConvDesc conv_desc(const ops::Conv& op, const Shape& x, const Shape& w) {
  const std::size_t spatial = x.size() - 2;
  const std::size_t k0 = first_kernel_axis(op.weight_layout);
  kernels::ConvDesc d;
  d.N = x[0];
  d.Cin = x.back();
  d.Cout = op.weight_layout == ops::WeightLayout::HWIO ? w.back() : w[0];
  d.group = op.group;
  for (std::size_t i = 0; i < spatial; ++i) {
    const AxisFields& f = kAxes[3 - spatial + i];
    const auto window =
        ops::window(x[i + 1], w[k0 + i], op.strides[i], op.dilations[i], op.padding.mode,
                    op.padding.before.empty() ? 0 : op.padding.before[i],
                    op.padding.after.empty() ? 0 : op.padding.after[i]);
    d.*f.in = x[i + 1];
    d.*f.kernel = w[k0 + i];
    d.*f.stride = op.strides[i];
    d.*f.dilation = op.dilations[i];
    d.*f.pad = window.before;
    d.*f.out = window.out;
  }
  return d;
}

kernels::WeightStrides weight_strides(ops::WeightLayout l, const kernels::ConvDesc& d) {
  switch (l) {
    case ops::WeightLayout::HWIO:
      return kernels::hwio_strides(d);
    case ops::WeightLayout::OHWI:
      return kernels::ohwi_strides(d);
    default:
      return kernels::oihw_strides(d);
  }
}

Shape typical_shape(const ops::Conv& op, const SymShape& shape, const Shape& w) {
  Shape s;
  for (const Dim& d : shape) s.push_back(guess(d));
  if (!shape[0].is_const()) s[0] = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) {
    if (!shape[i + 1].is_const()) s[i + 1] = std::max(s[i + 1], smallest(op, w, i));
  }
  return s;
}

}  // namespace treadle::cpu
