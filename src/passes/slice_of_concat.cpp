// Slice(Concat(x, y, …)) that lies within one of them → Slice of it. Shortens the chain.
#include "ops/move.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {

std::optional<Patch> slice_of_concat(const Graph& g, const Node& n) {
  const auto& slice = *n.op->as<ops::Slice>();
  const auto* concat = made_by<ops::Concat>(g, n.inputs[0]);
  if (concat == nullptr || concat->axis != slice.axis || slice.step <= 0) return std::nullopt;
  const auto start = slice.start.as_const();
  const auto length = slice.length.as_const();
  if (!start || !length || *length <= 0) return std::nullopt;
  const std::int64_t last = checked_add(*start, checked_mul(*length - 1, slice.step));
  std::int64_t offset = 0;
  for (const ValueId part : g.node(n.inputs[0].node).inputs) {
    const auto size = g.fact(part).shape[static_cast<std::size_t>(slice.axis)].as_const();
    if (!size) return std::nullopt;
    if (*start >= offset && last < offset + *size) {
      return rewrite(
          g, n, make_op<ops::Slice>(slice.axis, Dim(*start - offset), slice.length, slice.step),
          {part});
    }
    offset += *size;
  }
  return std::nullopt;
}

}  // namespace treadle::passes
