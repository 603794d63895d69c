// Conv(x, w, b)·s → Conv(x, w·s, b·s); Conv(x, w, b)+t → Conv(x, w, b+t), with constants s, t that
// vary along the channels only; ConvTranspose likewise. Leaves fewer operators.
#include "passes/channel_constant.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::BinaryFn;
using ops::Conv;
using ops::ConvTranspose;
using ops::WeightLayout;

// w·s by output channel; nothing for a layout that the rule does not know, or out of range.
std::optional<Tensor> scaled_weights(const Node& conv, const Tensor& w, const Tensor& s) {
  const int rank = w.rank();
  if (const auto* op = conv.op->as<Conv>()) {
    const int axis = output_channel_axis(op->weight_layout, rank);
    return folded(BinaryFn::Mul, w, along_axis(s, rank, axis), Of::Weights);
  }
  const auto& op = *conv.op->as<ConvTranspose>();
  if (s.elements() == 1) return folded(BinaryFn::Mul, w, along_axis(s, rank, 0), Of::Weights);
  if (op.weight_layout == WeightLayout::HWIO && op.group == 1) {
    return folded(BinaryFn::Mul, w, along_axis(s, rank, rank - 2), Of::Weights);
  }
  if (op.weight_layout != WeightLayout::IOHW) return std::nullopt;
  // [Cin, Cout/group, k…] as [group, Cin/group, Cout/group, k…].
  std::vector<std::int64_t> split(w.shape().begin(), w.shape().end());
  if (split[0] % op.group != 0) return std::nullopt;
  split[0] /= op.group;
  split.insert(split.begin(), op.group);
  std::vector<std::int64_t> scale(split.size(), 1);
  scale[0] = op.group;
  scale[2] = split[2];
  const auto product =
      folded(BinaryFn::Mul, w.reshaped(Shape(std::span<const std::int64_t>(split))),
             s.reshaped(Shape(std::span<const std::int64_t>(scale))), Of::Weights);
  if (!product) return std::nullopt;
  return product->reshaped(w.shape());
}

const ops::Layout* layout_of(const Operator& op) {
  if (const auto* c = op.as<Conv>()) return &c->layout;
  if (const auto* c = op.as<ConvTranspose>()) return &c->layout;
  return nullptr;
}

}  // namespace

std::optional<Patch> affine_into_conv(const Graph& g, const Node& n) {
  const bool left = constant(g, n.inputs[0]) != nullptr;
  const ValueId y = n.inputs[left ? 1 : 0];
  const Node& conv = *producer(g, y);
  const ops::Layout* layout = layout_of(*conv.op);
  if (layout == nullptr || !used_once(g, y)) return std::nullopt;
  const int channels = ops::channel_axis(*layout, g.fact(y).rank());
  const auto step = channel_step(g, output_of(n), channels);
  const auto cout = g.fact(y).shape[static_cast<std::size_t>(channels)].as_const();
  const Tensor* w = constant(g, conv.inputs[1]);
  if (!step || !cout || w == nullptr) return std::nullopt;
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2].present();
  const Tensor* b = has_bias ? constant(g, conv.inputs[2]) : nullptr;
  if (has_bias && b == nullptr) return std::nullopt;

  Patch patch(g);
  std::vector<ValueId> inputs(conv.inputs.begin(), conv.inputs.begin() + 2);
  if (step->fn == BinaryFn::Mul) {
    const auto scaled = scaled_weights(conv, *w, step->c);
    if (!scaled) return std::nullopt;
    inputs[1] = patch.constant(conv.name + ".weight", *scaled);
    if (b != nullptr) {
      const auto bias = folded(BinaryFn::Mul, *b, step->c, Of::Weights);
      if (!bias) return std::nullopt;
      inputs.push_back(patch.constant(conv.name + ".bias", *bias));
    }
  } else {
    const auto sum = b != nullptr ? folded(BinaryFn::Add, *b, step->c, Of::Weights)
                                  : std::optional(widened(step->c, *cout));
    if (!sum) return std::nullopt;
    inputs.push_back(patch.constant(conv.name + ".bias", *sum));
  }
  const ValueId made = patch.add1(conv.name, conv.op, inputs);
  return replacing(g, std::move(patch), output_of(n), made);
}

}  // namespace treadle::passes
