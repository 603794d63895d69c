// Cast(Cast(x: A → B) → C) → Cast(x: A → C), when B holds every value of A. Shortens the chain.
#include "ops/cast.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

// True when each value of `from` is one of `to`, exactly.
bool holds_all(DType to, DType from) {
  if (from == to) return true;
  if (is_float(from) && is_float(to)) {
    return to == DType::F64 || (to == DType::F32 && from != DType::F64);
  }
  if (is_integer(from) && is_integer(to)) {
    if (is_signed_integer(from) == is_signed_integer(to)) return size_of(to) >= size_of(from);
    return is_signed_integer(to) && size_of(to) > size_of(from);
  }
  if (from == DType::Bool) return is_integer(to) || is_float(to);
  return false;
}

}  // namespace

std::optional<Patch> merge_casts(const Graph& g, const Node& n) {
  const auto* inner = made_by<ops::Cast>(g, n.inputs[0]);
  if (inner == nullptr) return std::nullopt;
  const ValueId x = input_of(g, n.inputs[0]);
  if (!holds_all(inner->to, g.fact(x).dtype)) return std::nullopt;
  const DType to = n.op->as<ops::Cast>()->to;
  if (to == g.fact(x).dtype) return bypass(g, n, x);
  if (is_integer(inner->to) && is_float(to)) return std::nullopt;
  return rewrite(g, n, n.op, {x});
}

}  // namespace treadle::passes
