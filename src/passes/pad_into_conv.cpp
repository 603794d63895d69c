// Conv(Pad(x)) → Conv(x) with larger padding, for zeros around the spatial axes; average pooling
// likewise (padding counts then), max pooling for −∞. Leaves fewer operators.
#include <cmath>

#include "ops/conv.hpp"
#include "ops/move.hpp"
#include "ops/pool.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::AutoPad;
using ops::Padding;

// `padding` with the spatial pads of `pad` added; nothing when pads crop, are not known, or stand
// on another axis.
std::optional<Padding> joined(const Padding& padding, ops::Layout layout, const ops::Pad& pad) {
  if (padding.mode != AutoPad::Explicit && padding.mode != AutoPad::Valid) return std::nullopt;
  const std::size_t rank = pad.before.size();
  if (rank < 3 || pad.after.size() != rank) return std::nullopt;
  Padding sum = padding;
  sum.mode = AutoPad::Explicit;
  sum.before.resize(rank - 2, 0);
  sum.after.resize(rank - 2, 0);
  const int channels = ops::channel_axis(layout, static_cast<int>(rank));
  std::size_t spatial = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto before = pad.before[i].as_const(), after = pad.after[i].as_const();
    if (!before || !after || *before < 0 || *after < 0) return std::nullopt;
    if (i == 0 || static_cast<int>(i) == channels) {
      if (*before != 0 || *after != 0) return std::nullopt;
      continue;
    }
    if (padding.mode == AutoPad::Valid) sum.before[spatial] = sum.after[spatial] = 0;
    sum.before[spatial] = checked_add(sum.before[spatial], *before);
    sum.after[spatial] = checked_add(sum.after[spatial], *after);
    ++spatial;
  }
  return sum;
}

bool is_zero(const Padding& p) {
  for (const auto* side : {&p.before, &p.after}) {
    for (const std::int64_t v : *side) {
      if (p.mode == AutoPad::Explicit && v != 0) return false;
    }
  }
  return true;
}

// The operator with the padding in it; null when it would compute something else.
OperatorPtr with_pad(const Operator& op, const ops::Pad& pad, double value) {
  if (const auto* conv = op.as<ops::Conv>()) {
    auto padding = joined(conv->padding, conv->layout, pad);
    if (!padding || value != 0) return nullptr;
    auto copy = std::make_shared<ops::Conv>(*conv);
    copy->padding = std::move(*padding);
    return copy;
  }
  const auto& pool = *op.as<ops::Pool>();
  auto padding = joined(pool.padding, pool.layout, pad);
  if (!padding || pool.ceil_mode || pool.with_indices) return nullptr;
  const bool average = pool.kind == ops::PoolKind::Average && value == 0 &&
                       (pool.count_include_pad || is_zero(pool.padding));
  const bool max = pool.kind == ops::PoolKind::Max && std::isinf(value) && value < 0;
  if (!average && !max) return nullptr;
  for (std::size_t i = 0; i < pool.kernel.size(); ++i) {
    if (padding->before[i] >= pool.kernel[i] || padding->after[i] >= pool.kernel[i]) return nullptr;
  }
  auto copy = std::make_shared<ops::Pool>(pool);
  copy->padding = std::move(*padding);
  copy->count_include_pad = pool.count_include_pad || average;
  return copy;
}

}  // namespace

std::optional<Patch> pad_into_conv(const Graph& g, const Node& n) {
  const auto* pad = made_by<ops::Pad>(g, n.inputs[0]);
  if (pad == nullptr || pad->mode != ops::PadMode::Constant) return std::nullopt;
  const auto& from = g.node(n.inputs[0].node).inputs;
  std::optional<double> value = 0;
  if (from.size() > 1 && from[1].present()) value = scalar(g, from[1]);
  if (!value) return std::nullopt;
  OperatorPtr op = with_pad(*n.op, *pad, *value);
  if (op == nullptr) return std::nullopt;
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = from[0];
  return rewrite(g, n, std::move(op), inputs);
}

}  // namespace treadle::passes
