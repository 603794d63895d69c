#include "cpu/conv_desc.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/conv.hpp"
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

}  // namespace

bool has_conv_kernel(const Graph& graph, const Node& node) {
  if (!channels_last(*node.op)) return false;
  const Fact& x = graph.fact(node.inputs[0]);
  const bool bias = node.inputs.size() > 2 && node.inputs[2].present();
  return x.dtype == DType::F32 && x.rank() >= 3 && x.rank() <= 5 && x.shape.back().is_const() &&
         graph.fact(node.inputs[1]).value && (!bias || graph.fact(node.inputs[2]).value);
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

}  // namespace treadle::cpu
