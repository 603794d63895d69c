#include "formats/tf/counted.hpp"

#include "ops/axis.hpp"
#include "ops/binary.hpp"
#include "ops/cast.hpp"
#include "ops/checks.hpp"
#include "ops/scatter_nd.hpp"

namespace treadle::tf {
namespace {

std::optional<Dim> one_element(const Fact& f) {
  if (f.kind != Fact::Kind::Tensor || !is_integer(f.dtype)) return std::nullopt;
  const auto all = f.symbolic();
  return all && all->size() == 1 ? std::optional((*all)[0]) : std::nullopt;
}

// The constant that variable k grows by each turn.
std::optional<std::int64_t> step_of(const LoopBody& loop, std::size_t k) {
  const Node& n = loop.graph().node(loop.next(k).node);
  const auto* add = n.op->as<ops::Binary>();
  if (!add || add->fn != ops::BinaryFn::Add) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    if (!(n.inputs[side] == loop.variable(k))) continue;
    const auto by = one_element(loop.graph().fact(n.inputs[1 - side]));
    return by ? by->as_const() : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::size_t> counter_after_turn(const LoopBody& loop, ValueId v) {
  for (std::size_t k = 0; k < loop.init.size(); ++k) {
    if (loop.next(k) == v && step_of(loop, k).value_or(0) > 0) return k;
  }
  return std::nullopt;
}

// A value of the body that is the same in each turn, as the outer graph knows it.
std::optional<Dim> limit_of(const LoopBody& loop, ValueId v) {
  const Graph& g = loop.graph();
  const std::size_t first = loop.init.size() + 2;
  for (std::size_t i = 0; i < loop.body.captured.size(); ++i)
    if (g.inputs()[first + i] == v) return one_element(loop.outer.fact(loop.body.captured[i]));
  return g.fact(v).value ? one_element(g.fact(v)) : std::nullopt;
}

// Turns until `counter < limit` (or <=) fails.
std::optional<Dim> turns_below(const LoopBody& loop, ValueId counter, ValueId limit, bool equal) {
  const auto k = counter_after_turn(loop, counter);
  if (!k) return std::nullopt;
  const auto start = one_element(loop.outer.fact(loop.init[*k]));
  const auto end = limit_of(loop, limit);
  if (!start || !start->is_const() || !end) return std::nullopt;
  const Dim distance = *end - *start + Dim(equal ? 1 : 0);
  const Dim n = ceil_div(distance, *step_of(loop, *k));
  return ops::is_non_negative(n) ? n : max(n, Dim(0));
}

// Of a comparison, or of several joined by And.
std::optional<Dim> turns_while(const LoopBody& loop, ValueId condition, int depth) {
  const Node& n = loop.graph().node(condition.node);
  const auto* op = n.op->as<ops::Binary>();
  if (!op || depth > 8) return std::nullopt;
  switch (op->fn) {
    case ops::BinaryFn::And: {
      const auto a = turns_while(loop, n.inputs[0], depth + 1);
      const auto b = turns_while(loop, n.inputs[1], depth + 1);
      return a && b ? std::optional(min(*a, *b)) : std::nullopt;
    }
    case ops::BinaryFn::Less:
    case ops::BinaryFn::LessEqual:
      return turns_below(loop, n.inputs[0], n.inputs[1], op->fn == ops::BinaryFn::LessEqual);
    case ops::BinaryFn::Greater:
    case ops::BinaryFn::GreaterEqual:
      return turns_below(loop, n.inputs[1], n.inputs[0], op->fn == ops::BinaryFn::GreaterEqual);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Dim> turns(const LoopBody& loop) {
  return turns_while(loop, loop.graph().outputs()[0], 0);
}

std::optional<ValueId> written_each_turn(const LoopBody& loop, std::size_t k) {
  const Graph& g = loop.graph();
  const Node& write = g.node(loop.next(k).node);
  if (!write.op->as<ops::ScatterNd>() || !(write.inputs[0] == loop.variable(k))) return {};
  if (g.use_count(loop.variable(k)) != 1 || g.use_count(loop.next(k)) != 1) return {};
  // The index: a counter that starts at 0, in the shape and type that a write gives it.
  ValueId index = write.inputs[1];
  while (g.node(index.node).op->as<ops::Reshape>() || g.node(index.node).op->as<ops::Cast>() ||
         g.node(index.node).op->as<ops::Unsqueeze>())
    index = g.node(index.node).inputs[0];
  for (std::size_t c = 0; c < loop.init.size(); ++c) {
    if (!(index == loop.variable(c))) continue;
    const auto start = one_element(loop.outer.fact(loop.init[c]));
    if (!start || !start->is(0) || step_of(loop, c) != 1) return {};
    const Node& value = g.node(write.inputs[2].node);
    if (!value.op->as<ops::Unsqueeze>()) return {};
    return value.inputs[0];
  }
  return {};
}

}  // namespace treadle::tf
