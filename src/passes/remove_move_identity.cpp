// Cast, Expand, Reshape, Transpose, Slice, Pad, Concat, Tile, Resize that change nothing → x.
// Leaves fewer operators.
#include <algorithm>

#include "ops/cast.hpp"
#include "ops/move.hpp"
#include "ops/resize.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

bool all_are(const SymShape& dims, std::int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.is(value); });
}

// Resize to the input's own size is the identity but for cropping and given scales.
bool keeps(const ops::Resize& op) {
  return op.coordinates != ops::Coordinates::TfCropAndResize &&
         std::all_of(op.scales.begin(), op.scales.end(), [](double s) { return s == 1; });
}

// Whether n, whose output has the type of its input, passes its elements on unchanged.
bool is_identity_op(const Node& n) {
  if (const auto* t = n.op->as<ops::Transpose>()) return ops::is_identity(t->perm);
  if (const auto* s = n.op->as<ops::Slice>()) return s->step == 1;
  if (const auto* p = n.op->as<ops::Pad>()) return all_are(p->before, 0) && all_are(p->after, 0);
  if (n.op->as<ops::Concat>() != nullptr) return n.inputs.size() == 1;
  if (const auto* t = n.op->as<ops::Tile>()) return all_are(t->repeats, 1);
  if (const auto* r = n.op->as<ops::Resize>()) return keeps(*r);
  return n.op->as<ops::Cast>() != nullptr || n.op->as<ops::Expand>() != nullptr ||
         n.op->as<ops::Reshape>() != nullptr || n.op->as<ops::Squeeze>() != nullptr ||
         n.op->as<ops::Unsqueeze>() != nullptr;
}

// Concat of x and of tensors without elements.
std::optional<Patch> drop_empty(const Graph& g, const Node& n, const ops::Concat& op) {
  std::vector<ValueId> kept;
  for (const ValueId v : n.inputs) {
    if (!g.fact(v).shape[static_cast<std::size_t>(op.axis)].is(0)) kept.push_back(v);
  }
  if (kept.empty() || kept.size() == n.inputs.size()) return std::nullopt;
  return rewrite(g, n, n.op, kept);
}

}  // namespace

std::optional<Patch> remove_move_identity(const Graph& g, const Node& n) {
  if (is_identity_op(n) && g.fact(n.inputs[0]).same_type(n.outputs[0].fact)) {
    return bypass(g, n, n.inputs[0]);
  }
  if (const auto* c = n.op->as<ops::Concat>()) return drop_empty(g, n, *c);
  return std::nullopt;
}

}  // namespace treadle::passes
