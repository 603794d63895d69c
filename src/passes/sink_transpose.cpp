// f(Transpose(x), Transpose(y), c) → Transpose(f(x, y, c')). Moves transposes towards the outputs,
// through any operator that knows how its axes change; other operands must be constants, which are
// transposed, or have only axes of size 1 that move.
//
// Without channels_last only where the number of transposes cannot grow: see may_sink.
#include "ops/cast.hpp"
#include "ops/contract.hpp"
#include "ops/move.hpp"
#include "ops/resize.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::Transpose;

// Operators with sinking rules of their own.
bool has_own_rule(const Operator& op) {
  return op.as<Transpose>() != nullptr || op.as<ops::Reshape>() != nullptr ||
         op.as<ops::Squeeze>() != nullptr || op.as<ops::Unsqueeze>() != nullptr ||
         op.as<ops::Contract>() != nullptr;
}

bool enlarges(const Operator& op) {
  return op.as<ops::Expand>() != nullptr || op.as<ops::Tile>() != nullptr ||
         op.as<ops::Resize>() != nullptr || op.as<ops::Pad>() != nullptr;
}

// Every use of the transpose is by n, or by an operator that it sinks through too.
bool may_sink(const Graph& g, const Node& n, ValueId transposed) {
  if (enlarges(*n.op) || g.is_output(transposed)) return false;
  for (const Use& use : g.uses(transposed)) {
    const Node& user = g.node(use.node);
    const bool elementwise =
        user.op->as<ops::Unary>() != nullptr || user.op->as<ops::Cast>() != nullptr;
    if (user.id != n.id && !elementwise) return false;
  }
  return true;
}

// x permuted by q, where a reshape, or nothing, does that; nullopt where elements would move.
std::optional<ValueId> permuted_for_free(const Graph& g, Patch& patch, const std::string& name,
                                         ValueId x, const Perm& q) {
  const SymShape& shape = g.fact(x).shape;
  if (!moves_only_ones(shape, q)) return std::nullopt;
  SymShape target = permuted(shape, q);
  if (target == shape) return x;
  return patch.add1(name + ".permuted", make_op<ops::Reshape>(std::move(target)), {x});
}

// The operand as the operator with permuted axes wants it: permuted by q.
std::optional<ValueId> permuted_operand(const Graph& g, Patch& patch, const std::string& name,
                                        ValueId v, const Perm& q, bool& cancelled) {
  if (ops::is_identity(q)) return v;
  if (const auto* t = made_by<Transpose>(g, v)) {
    const auto x = permuted_for_free(g, patch, name, input_of(g, v), ops::compose(t->perm, q));
    cancelled = cancelled || x.has_value();
    return x;
  }
  if (const Tensor* c = constant(g, v)) {
    return patch.constant(name + ".permuted", evaluate_constant(Transpose(q), {*c}));
  }
  return permuted_for_free(g, patch, name, v, q);
}

std::optional<Patch> sink_at(const Graph& g, const Node& n, std::size_t at) {
  const Perm& perm = made_by<Transpose>(g, n.inputs[at])->perm;
  const Fact& out = n.outputs[0].fact;
  if (static_cast<int>(perm.size()) != out.rank()) return std::nullopt;
  const std::vector<const Fact*> facts = g.input_facts(n);
  const auto change = n.op->change_axes(facts, std::span(&out, 1), ops::inverse(perm));
  if (!change || change->inputs.size() != n.inputs.size()) return std::nullopt;
  Patch patch(g);
  std::vector<ValueId> inputs = n.inputs;
  bool cancelled = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].present() || !change->inputs[k]) continue;
    const auto v = permuted_operand(g, patch, n.name, inputs[k], *change->inputs[k], cancelled);
    if (!v) return std::nullopt;
    inputs[k] = *v;
  }
  if (!cancelled) return std::nullopt;
  const ValueId made = patch.add1(n.name + ".permuted", change->op, inputs);
  const ValueId back = patch.add1(n.name, make_op<Transpose>(perm), {made});
  return replacing(g, std::move(patch), output_of(n), back);
}

std::optional<Patch> sink(const Graph& g, const Node& n, bool always) {
  if (n.outputs.size() != 1 || n.inputs.empty() || has_own_rule(*n.op)) return std::nullopt;
  if (n.outputs[0].fact.kind != Fact::Kind::Tensor) return std::nullopt;
  const Perm* tried = nullptr;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const auto* t = made_by<Transpose>(g, n.inputs[i]);
    if (t == nullptr || (tried != nullptr && *tried == t->perm)) continue;
    if (!always && !may_sink(g, n, n.inputs[i])) continue;
    if (auto patch = sink_at(g, n, i)) return patch;
    tried = &t->perm;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Patch> sink_transpose(const Graph& g, const Node& n) {
  return sink(g, n, false);
}
std::optional<Patch> sink_layout(const Graph& g, const Node& n) {
  return sink(g, n, true);
}

}  // namespace treadle::passes
