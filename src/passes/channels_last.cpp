// Conv(x: N C …) → Transpose(Conv(Transpose(x): N … C)), ConvTranspose and Pool likewise; weights
// stay. Leaves fewer channels-first operators; the transposes then sink and cancel.
#include "ops/conv.hpp"
#include "ops/conv_transpose.hpp"
#include "ops/pool.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

// The operator over channels-last data; null when it is that already, or cannot be.
template <typename T>
OperatorPtr last(const Operator& op) {
  const auto* found = op.as<T>();
  if (found == nullptr || found->layout == ops::Layout::ChannelsLast) return nullptr;
  auto copy = std::make_shared<T>(*found);
  copy->layout = ops::Layout::ChannelsLast;
  return copy;
}

OperatorPtr channels_last_op(const Operator& op) {
  if (const auto* pool = op.as<ops::Pool>(); pool != nullptr && pool->with_indices) return nullptr;
  if (OperatorPtr conv = last<ops::Conv>(op)) return conv;
  if (OperatorPtr conv = last<ops::ConvTranspose>(op)) return conv;
  return last<ops::Pool>(op);
}

}  // namespace

std::optional<Patch> channels_last(const Graph& g, const Node& n) {
  const int rank = n.outputs[0].fact.rank();
  if (rank < 3 || rank > 5) return std::nullopt;
  OperatorPtr op = channels_last_op(*n.op);
  if (op == nullptr) return std::nullopt;
  Perm to_last = {0};
  for (int i = 2; i < rank; ++i) to_last.push_back(i);
  to_last.push_back(1);
  Patch patch(g);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = patch.add1(n.name + ".to_last", make_op<ops::Transpose>(to_last), {inputs[0]});
  const ValueId made = patch.add1(n.name + ".last", std::move(op), inputs);
  const ValueId back = patch.add1(n.name, make_op<ops::Transpose>(ops::inverse(to_last)), {made});
  return replacing(g, std::move(patch), output_of(n), back);
}

}  // namespace treadle::passes
