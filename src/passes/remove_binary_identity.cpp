// x+0, x−0, x·1, x/1, x^1 → x. Leaves fewer operators. (−0 + 0 becomes −0.)
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

using ops::BinaryFn;

std::optional<Patch> remove_binary_identity(const Graph& g, const Node& n) {
  const BinaryFn fn = n.op->as<ops::Binary>()->fn;
  double neutral = 0;
  switch (fn) {
    case BinaryFn::Add:
    case BinaryFn::Sub:
      neutral = 0;
      break;
    case BinaryFn::Mul:
    case BinaryFn::Div:
    case BinaryFn::Pow:
      neutral = 1;
      break;
    default:
      return std::nullopt;
  }
  if (uniform(g, n.inputs[1]) == neutral) return bypass(g, n, n.inputs[0]);
  const bool commutes = fn == BinaryFn::Add || fn == BinaryFn::Mul;
  if (commutes && uniform(g, n.inputs[0]) == neutral) return bypass(g, n, n.inputs[1]);
  return std::nullopt;
}

}  // namespace treadle::passes
