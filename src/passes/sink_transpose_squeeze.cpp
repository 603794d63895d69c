// Squeeze(Transpose(x)) → Transpose(Squeeze(x)), Unsqueeze likewise. Moves transposes towards the
// outputs, to tensors of no more elements.
#include <algorithm>

#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using Axes = std::vector<std::int64_t>;

bool holds(const Axes& axes, std::size_t i) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
}

struct Swapped {
  OperatorPtr op;
  Perm perm;
};

Swapped swap(const ops::Squeeze& squeeze, const Perm& perm) {
  Axes axes;
  for (const std::int64_t a : squeeze.axes) axes.push_back(perm[static_cast<std::size_t>(a)]);
  std::sort(axes.begin(), axes.end());
  Perm left;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (holds(squeeze.axes, i)) continue;
    const auto below = std::lower_bound(axes.begin(), axes.end(), perm[i]) - axes.begin();
    left.push_back(perm[i] - static_cast<int>(below));
  }
  return {make_op<ops::Squeeze>(std::move(axes)), std::move(left)};
}

Swapped swap(const ops::Unsqueeze& unsqueeze, const Perm& perm) {
  const std::size_t rank = perm.size() + unsqueeze.axes.size();
  std::vector<int> old_axes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!holds(unsqueeze.axes, i)) old_axes.push_back(static_cast<int>(i));
  }
  Perm wider(rank);
  for (std::size_t i = 0; i < rank; ++i) wider[i] = static_cast<int>(i);
  for (std::size_t k = 0; k < perm.size(); ++k) {
    wider[static_cast<std::size_t>(old_axes[k])] = old_axes[static_cast<std::size_t>(perm[k])];
  }
  return {make_op<ops::Unsqueeze>(unsqueeze.axes), std::move(wider)};
}

}  // namespace

std::optional<Patch> sink_transpose_squeeze(const Graph& g, const Node& n) {
  const auto* t = made_by<ops::Transpose>(g, n.inputs[0]);
  if (t == nullptr) return std::nullopt;
  const auto* squeeze = n.op->as<ops::Squeeze>();
  const Swapped swapped =
      squeeze != nullptr ? swap(*squeeze, t->perm) : swap(*n.op->as<ops::Unsqueeze>(), t->perm);
  Patch patch(g);
  const bool done = ops::is_identity(swapped.perm);
  const ValueId made =
      patch.add1(done ? n.name : n.name + ".permuted", swapped.op, {input_of(g, n.inputs[0])});
  const ValueId back =
      done ? made : patch.add1(n.name, make_op<ops::Transpose>(swapped.perm), {made});
  return replacing(g, std::move(patch), output_of(n), back);
}

}  // namespace treadle::passes
