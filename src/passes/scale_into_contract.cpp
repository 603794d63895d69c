// Contract(x, w)·s → Contract(x, w·s) and Contract(x·s, w) → Contract(x, w·s), with a constant w
// and a constant s that varies along one axis of w at most. Leaves fewer operators.
#include "ops/contract.hpp"
#include "passes/channel_constant.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::BinaryFn;
using ops::Contract;

// The input of `contract` other than `except` that is a constant with `letter` of size n (any
// constant for a scalar), scaled by c.
struct Scaled {
  std::size_t input;
  Tensor weights;
};
std::optional<Scaled> scaled_operand(const Graph& g, const Node& contract, std::size_t except,
                                     char letter, const Tensor& c) {
  const auto& op = *contract.op->as<Contract>();
  for (std::size_t k = 0; k < contract.inputs.size(); ++k) {
    const Tensor* w = constant(g, contract.inputs[k]);
    if (k == except || w == nullptr) continue;
    const std::size_t axis = c.elements() == 1 ? 0 : op.inputs[k].find(letter);
    if (c.elements() != 1 && (axis == std::string::npos || w->shape()[axis] != c.elements()))
      continue;
    auto product =
        folded(BinaryFn::Mul, *w, along_axis(c, w->rank(), static_cast<int>(axis)), Of::Weights);
    if (product) return Scaled{k, std::move(*product)};
  }
  return std::nullopt;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

}  // namespace

std::optional<Patch> scale_into_contract(const Graph& g, const Node& n) {
  const bool left = constant(g, n.inputs[0]) != nullptr;
  const ValueId y = n.inputs[left ? 1 : 0];
  const auto* op = made_by<Contract>(g, y);
  if (op == nullptr || !used_once(g, y) || op->inputs.size() < 2) return std::nullopt;
  int axis = 0;
  const auto step = any_channel_step(g, output_of(n), axis);
  if (!step || step->fn != BinaryFn::Mul) return std::nullopt;
  const char letter = step->is_scalar() ? '\0' : op->output[static_cast<std::size_t>(axis)];
  const Node& contract = g.node(y.node);
  const auto scaled = scaled_operand(g, contract, kNone, letter, step->c);
  if (!scaled) return std::nullopt;
  Patch patch(g);
  std::vector<ValueId> inputs = contract.inputs;
  inputs[scaled->input] = patch.constant(contract.name + ".weight", scaled->weights);
  const ValueId made = patch.add1(contract.name, contract.op, inputs);
  return replacing(g, std::move(patch), output_of(n), made);
}

std::optional<Patch> scale_before_contract(const Graph& g, const Node& n) {
  const auto& op = *n.op->as<Contract>();
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    if (!used_once(g, n.inputs[k])) continue;
    int axis = 0;
    const auto step = any_channel_step(g, n.inputs[k], axis);
    if (!step || step->fn != BinaryFn::Mul) continue;
    const char letter = step->is_scalar() ? '\0' : op.inputs[k][static_cast<std::size_t>(axis)];
    const auto scaled = scaled_operand(g, n, k, letter, step->c);
    if (!scaled) continue;
    Patch patch(g);
    std::vector<ValueId> inputs = n.inputs;
    inputs[k] = step->x;
    inputs[scaled->input] = patch.constant(n.name + ".weight", scaled->weights);
    const ValueId made = patch.add1(n.name, n.op, inputs);
    return replacing(g, std::move(patch), output_of(n), made);
  }
  return std::nullopt;
}

}  // namespace treadle::passes
