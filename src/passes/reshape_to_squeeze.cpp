// Reshape(x) that only removes, or only adds, axes of size 1 → Squeeze(x), Unsqueeze(x). Leaves
// fewer reshapes; what is left says nothing about the other sizes.
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

// Axes of size 1 to remove from `from` so that `to` is left; nothing when that is impossible.
std::optional<std::vector<std::int64_t>> removed_ones(const SymShape& from, const SymShape& to) {
  std::vector<std::int64_t> axes;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (kept < to.size() && from[i] == to[kept]) {
      ++kept;
    } else if (from[i].is(1)) {
      axes.push_back(static_cast<std::int64_t>(i));
    } else {
      return std::nullopt;
    }
  }
  if (kept != to.size() || axes.empty()) return std::nullopt;
  return axes;
}

}  // namespace

std::optional<Patch> reshape_to_squeeze(const Graph& g, const Node& n) {
  const SymShape& from = g.fact(n.inputs[0]).shape;
  const SymShape& to = n.outputs[0].fact.shape;
  if (const auto axes = removed_ones(from, to)) {
    return rewrite(g, n, make_op<ops::Squeeze>(*axes), {n.inputs[0]});
  }
  if (const auto axes = removed_ones(to, from)) {
    return rewrite(g, n, make_op<ops::Unsqueeze>(*axes), {n.inputs[0]});
  }
  return std::nullopt;
}

}  // namespace treadle::passes
