// Reshape(Transpose(x)) → Transpose(Reshape(x)), when the reshape splits or joins axes that stand
// together in x. With channels_last also Transpose(Reshape(Transpose(x))), where the inner one does
// only what joining needs (pixel shuffle, channel shuffle). Moves transposes towards the outputs:
// the rule does not fire on its own result, whose inner transpose keeps the groups in order.
#include <algorithm>
#include <numeric>

#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

// Axes of the input and of the output that hold the same elements.
struct Group {
  std::vector<int> in, out;
};

// The finest such groups in order; axes of size 1 of the input stand in none, those of the output
// with their neighbour. Nothing when the sizes do not show where the groups end.
std::optional<std::vector<Group>> groups_of(const SymShape& in, const SymShape& out) {
  std::vector<Group> groups;
  std::vector<int> ones;
  std::size_t i = 0, j = 0;
  const auto skip_ones = [&] {
    while (i < in.size() && in[i].is(1)) ++i;
    while (j < out.size() && out[j].is(1)) {
      (groups.empty() ? ones : groups.back().out).push_back(static_cast<int>(j++));
    }
  };
  skip_ones();
  while (i < in.size() && j < out.size()) {
    Group group;
    group.out.swap(ones);
    Dim a = in[i], b = out[j];
    group.in.push_back(static_cast<int>(i++));
    group.out.push_back(static_cast<int>(j++));
    while (!(a == b)) {
      if (i < in.size() && exact_div(b, a)) {
        if (!in[i].is(1)) group.in.push_back(static_cast<int>(i));
        a = a * in[i++];
      } else if (j < out.size() && exact_div(a, b)) {
        group.out.push_back(static_cast<int>(j));
        b = b * out[j++];
      } else {
        return std::nullopt;
      }
    }
    groups.push_back(std::move(group));
    skip_ones();
  }
  if (i != in.size() || j != out.size() || groups.empty()) return std::nullopt;
  return groups;
}

struct Sunk {
  Perm before;     // of x
  SymShape shape;  // of the reshape
  Perm after;      // of its result
};

// The groups in the order in which their first axes stand in x.
Sunk sunk(const SymShape& x, const Perm& perm, const SymShape& out, std::vector<Group> groups) {
  for (Group& group : groups) {
    for (int& axis : group.in) axis = perm[static_cast<std::size_t>(axis)];
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.in.front() < b.in.front(); });
  Sunk s;
  const int rank = static_cast<int>(x.size());
  int next_one = 0;
  const auto take_ones = [&](int below) {
    for (; next_one < below; ++next_one) {
      if (x[static_cast<std::size_t>(next_one)].is(1)) s.before.push_back(next_one);
    }
  };
  s.after.resize(out.size());
  for (const Group& group : groups) {
    for (const int axis : group.in) {
      take_ones(axis);
      s.before.push_back(axis);
    }
    for (const int axis : group.out) {
      s.after[static_cast<std::size_t>(axis)] = static_cast<int>(s.shape.size());
      s.shape.push_back(out[static_cast<std::size_t>(axis)]);
    }
  }
  take_ones(rank);
  return s;
}

std::optional<Patch> sink(const Graph& g, const Node& n, bool layout) {
  const auto* t = made_by<ops::Transpose>(g, n.inputs[0]);
  if (t == nullptr) return std::nullopt;
  const ValueId x = input_of(g, n.inputs[0]);
  const SymShape& out = n.outputs[0].fact.shape;
  auto groups = groups_of(g.fact(n.inputs[0]).shape, out);
  if (!groups) return std::nullopt;
  const Sunk s = sunk(g.fact(x).shape, t->perm, out, std::move(*groups));
  const bool free = ops::is_identity(s.before) || moves_only_ones(g.fact(x).shape, s.before);
  if (ops::is_identity(s.after)) {
    // The transpose is needed, or does nothing that the reshape would not do.
    if (!free) return std::nullopt;
    return rewrite(g, n, n.op, {x});
  }
  // Images only: the last two axes of attention's heads are better left in order.
  const bool image = out.size() >= 4 && s.before.size() > out.size();
  if (!free && !(layout && image)) return std::nullopt;
  if (!layout && !used_once(g, n.inputs[0])) return std::nullopt;
  Patch patch(g);
  ValueId v = x;
  if (!free) v = patch.add1(n.name + ".joined", make_op<ops::Transpose>(s.before), {v});
  v = patch.add1(n.name + ".permuted", make_op<ops::Reshape>(s.shape), {v});
  v = patch.add1(n.name, make_op<ops::Transpose>(s.after), {v});
  return replacing(g, std::move(patch), output_of(n), v);
}

}  // namespace

std::optional<Patch> sink_transpose_reshape(const Graph& g, const Node& n) {
  return sink(g, n, false);
}
std::optional<Patch> sink_layout_reshape(const Graph& g, const Node& n) {
  return sink(g, n, true);
}

}  // namespace treadle::passes
