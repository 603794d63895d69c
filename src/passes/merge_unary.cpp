// ¬¬x, −−x → x; Relu, Clip, Abs and rounding after themselves → once; Clip[a,b](Clip[c,d](x)) and
// Relu with Clip → one Clip. Shortens the chain.
#include <algorithm>
#include <limits>

#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::Unary;
using ops::UnaryFn;

struct Range {
  double low, high;
};

std::optional<Range> range_of(const Unary& op) {
  if (op.fn == UnaryFn::Clip) return Range{op.a, op.b};
  if (op.fn == UnaryFn::Relu) return Range{0, std::numeric_limits<double>::infinity()};
  return std::nullopt;
}

bool idempotent(UnaryFn fn) {
  return fn == UnaryFn::Abs || fn == UnaryFn::Relu || fn == UnaryFn::Floor || fn == UnaryFn::Ceil ||
         fn == UnaryFn::Round || fn == UnaryFn::Sign;
}

}  // namespace

std::optional<Patch> merge_unary(const Graph& g, const Node& n) {
  const auto& outer = *n.op->as<Unary>();
  const auto* inner = made_by<Unary>(g, n.inputs[0]);
  if (inner == nullptr) return std::nullopt;
  if (outer.fn == inner->fn) {
    const UnaryFn fn = outer.fn;
    const bool involution = fn == UnaryFn::Not || fn == UnaryFn::Neg || fn == UnaryFn::BitwiseNot;
    if (involution) return bypass(g, n, input_of(g, n.inputs[0]));
    if (idempotent(fn)) return bypass(g, n, n.inputs[0]);
  }
  const auto a = range_of(*inner);
  const auto b = range_of(outer);
  if (!a || !b || !is_float(n.outputs[0].fact.dtype)) return std::nullopt;
  if (a->low > a->high || b->low > b->high) return std::nullopt;
  const double low = std::min(std::max(a->low, b->low), b->high);
  const double high = std::max(std::min(a->high, b->high), b->low);
  return rewrite(g, n, make_op<Unary>(UnaryFn::Clip, low, high), {input_of(g, n.inputs[0])});
}

}  // namespace treadle::passes
