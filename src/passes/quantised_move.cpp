// Operators that only choose among values, between DequantizeLinear and QuantizeLinear, work on the
// bytes themselves: Q(op(DQ(x, s, z)), s, z) → op(x), where op moves elements or is a max pool; and
// Q(Concat(DQ(x), …), s, z) → Concat(Q(DQ(x), s, z), …). Leaves fewer operators in f32.
#include "ops/move.hpp"
#include "ops/pool.hpp"
#include "ops/quantize.hpp"
#include "passes/dequantised.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

bool is_max_pool(const Node& n) {
  const auto* pool = n.op->as<ops::Pool>();
  return pool && pool->kind == ops::PoolKind::Max && !pool->with_indices;
}

// Max pools, and whatever dequantised() passes over, on the way from a DequantizeLinear.
std::optional<Patch> through(const Graph& g, const Node& n, const Scaling& to) {
  std::vector<NodeId> chosen;
  ValueId v = n.inputs[0];
  std::optional<Dequantised> from = dequantised(g, v);
  while (!from && v.slot == 0 && is_max_pool(g.node(v.node))) {
    chosen.insert(chosen.begin(), v.node);
    v = input_of(g, v);
    from = dequantised(g, v);
  }
  if (!from || !(from->scaling == to)) return std::nullopt;
  if (!to.single() && !chosen.empty()) return std::nullopt;
  Patch patch(g);
  ValueId x = from->q;
  from->movers.insert(from->movers.end(), chosen.begin(), chosen.end());
  for (const NodeId id : from->movers)
    x = patch.add1(g.node(id).name + ".bytes", g.node(id).op, {x});
  return replacing(g, std::move(patch), output_of(n), x);
}

std::optional<Patch> concat(const Graph& g, const Node& n, const Scaling& to) {
  const auto* op = made_by<ops::Concat>(g, n.inputs[0]);
  if (op == nullptr || !to.single() || !used_once(g, n.inputs[0])) return std::nullopt;
  Patch patch(g);
  std::vector<ValueId> parts;
  for (const ValueId part : g.node(n.inputs[0].node).inputs) {
    if (!dequantised(g, part)) return std::nullopt;
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = part;
    parts.push_back(patch.add1(n.name + ".part", n.op, std::move(inputs)));
  }
  const ValueId y = patch.add1(n.name, g.node(n.inputs[0].node).op, std::move(parts));
  return replacing(g, std::move(patch), output_of(n), y);
}

}  // namespace

std::optional<Patch> quantised_move(const Graph& g, const Node& n) {
  const auto to = quantised_to(g, n);
  if (!to) return std::nullopt;
  if (auto patch = through(g, n, *to)) return patch;
  return concat(g, n, *to);
}

}  // namespace treadle::passes
