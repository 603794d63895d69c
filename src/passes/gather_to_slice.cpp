// Gather(x, constant i) → Squeeze(Slice(x)); Gather(x, constants i, i+s, i+2s, …) → Slice(x).
// Leaves fewer gathers; slices copy runs, and transposes sink through them.
#include "ops/move.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

struct Run {
  std::int64_t start, count, step;
};

// The indices as an upward progression; nothing when they are none, or one is out of range.
std::optional<Run> run_of(const Tensor& indices, const Dim& size) {
  constexpr std::int64_t kMaxElements = 4096;
  if (!is_integer(indices.dtype()) || indices.rank() > 1) return std::nullopt;
  if (indices.elements() == 0 || indices.elements() > kMaxElements) return std::nullopt;
  std::vector<std::int64_t> at = indices.to_i64();
  const auto n = size.as_const();
  if (!n) return std::nullopt;
  for (std::int64_t& i : at) {
    if (i < -*n || i >= *n) return std::nullopt;
    if (i < 0) i += *n;
  }
  const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
  if (step <= 0) return std::nullopt;
  for (std::size_t k = 1; k < at.size(); ++k) {
    if (at[k] - at[k - 1] != step) return std::nullopt;
  }
  return Run{at[0], static_cast<std::int64_t>(at.size()), step};
}

}  // namespace

std::optional<Patch> gather_to_slice(const Graph& g, const Node& n) {
  const std::int64_t axis = n.op->as<ops::Gather>()->axis;
  const Tensor* indices = constant(g, n.inputs[1]);
  if (indices == nullptr) return std::nullopt;
  const auto run = run_of(*indices, g.fact(n.inputs[0]).shape[static_cast<std::size_t>(axis)]);
  if (!run) return std::nullopt;
  OperatorPtr slice = make_op<ops::Slice>(axis, Dim(run->start), Dim(run->count), run->step);
  if (indices->rank() == 1) return rewrite(g, n, std::move(slice), {n.inputs[0]});
  Patch patch(g);
  const ValueId one = patch.add1(n.name + ".slice", std::move(slice), {n.inputs[0]});
  const ValueId made =
      patch.add1(n.name, make_op<ops::Squeeze>(std::vector<std::int64_t>{axis}), {one});
  return replacing(g, std::move(patch), output_of(n), made);
}

}  // namespace treadle::passes
