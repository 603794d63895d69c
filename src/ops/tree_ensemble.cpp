#include "ops/tree_ensemble.hpp"

#include <algorithm>
#include <cmath>

#include "ops/checks.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

// Throws unless each node can be reached from one root along one way, so that walks end.
void check_trees(const Trees& t) {
  const auto leaves = static_cast<std::int64_t>(t.leaf_starts.size()) - 1;
  std::vector<bool> seen(t.nodes.size(), false);
  std::vector<std::int32_t> pending(t.roots);
  while (!pending.empty()) {
    const std::int64_t c = pending.back();
    pending.pop_back();
    if (c < 0) {
      check(~c < leaves, ErrorKind::Parse, "a tree refers to leaf {} of {}", ~c, leaves);
      continue;
    }
    const auto at = static_cast<std::size_t>(c);
    check(at < t.nodes.size(), ErrorKind::Parse, "a tree refers to node {} of {}", c,
          t.nodes.size());
    check(!seen[at], ErrorKind::Parse, "node {} of a tree is reached in two ways", c);
    seen[at] = true;
    const TreeNode& n = t.nodes[at];
    check(n.feature >= 0, ErrorKind::Parse, "node {} tests feature {}", c, n.feature);
    check(n.test != TreeTest::Member ||
              (n.members >= 0 && static_cast<std::size_t>(n.members) < t.members.size()),
          ErrorKind::Parse, "node {} has no set of members", c);
    pending.push_back(n.yes);
    pending.push_back(n.no);
  }
  // Nodes that no root leads to, such as a circle and what it cut off.
  const auto lost = std::find(seen.begin(), seen.end(), false);
  check(lost == seen.end(), ErrorKind::Parse, "node {} is in no tree", lost - seen.begin());
}

bool passes(const TreeNode& n, double x, const Trees& t) {
  if (std::isnan(x) && n.nan_is_yes != 0) return true;
  switch (n.test) {
    case TreeTest::LessEqual:
      return x <= n.split;
    case TreeTest::Less:
      return x < n.split;
    case TreeTest::GreaterEqual:
      return x >= n.split;
    case TreeTest::Greater:
      return x > n.split;
    case TreeTest::Equal:
      return x == n.split;
    case TreeTest::NotEqual:
      return x != n.split;
    case TreeTest::Member:
      break;
  }
  const auto& set = t.members[static_cast<std::size_t>(n.members)];
  return std::binary_search(set.begin(), set.end(), x);
}

// A view of the elements as bytes, for equality of parameters.
template <typename T>
Tensor bytes_of(const std::shared_ptr<const Trees>& owner, const std::vector<T>& v) {
  return {DType::U8, Shape{static_cast<std::int64_t>(v.size() * sizeof(T))}, v.data(), owner};
}

}  // namespace

TreeEnsemble::TreeEnsemble(Trees trees, DType dtype) : dtype_(dtype) {
  const auto limit = std::int64_t{1} << 31;
  check(trees.targets >= 1 && trees.targets < limit, ErrorKind::Parse, "{} targets", trees.targets);
  check(trees.base.empty() || static_cast<std::int64_t>(trees.base.size()) == trees.targets,
        ErrorKind::Parse, "{} base values for {} targets", trees.base.size(), trees.targets);
  for (const TreeVote& v : trees.votes) {
    check(v.target >= 0 && v.target < trees.targets, ErrorKind::Parse,
          "a leaf votes for target {} of {}", v.target, trees.targets);
  }
  check_trees(trees);
  for (auto& set : trees.members) std::sort(set.begin(), set.end());
  for (const TreeNode& n : trees.nodes) {
    features_ = std::max<std::int64_t>(features_, std::int64_t{n.feature} + 1);
  }
  trees_ = std::make_shared<const Trees>(std::move(trees));
}

void TreeEnsemble::visit(ParamVisitor& v) const {
  const Trees& t = *trees_;
  v.param("nodes", bytes_of(trees_, t.nodes));
  v.param("roots", bytes_of(trees_, t.roots));
  v.param("leaves", bytes_of(trees_, t.leaf_starts));
  v.param("votes", bytes_of(trees_, t.votes));
  std::vector<double> members;
  for (const auto& set : t.members) {
    members.push_back(static_cast<double>(set.size()));
    members.insert(members.end(), set.begin(), set.end());
  }
  v.param("members", members);
  v.param("targets", t.targets);
  v.param("aggregate", static_cast<std::int64_t>(t.aggregate));
  v.param("post", static_cast<std::int64_t>(t.post));
  v.param("base", t.base);
  v.param("unvoted", t.unvoted);
  v.param("dtype", dtype_);
}

std::vector<Fact> TreeEnsemble::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  check(is_float(x.dtype) || x.dtype == DType::I64 || x.dtype == DType::I32, ErrorKind::Type,
        "input 0 'X' has dtype {}, expected a float, i32 or i64", name_of(x.dtype));
  need_rank(x, 2, 0);
  check(!x.shape[1].is_const() || x.shape[1].value() >= features_, ErrorKind::Shape,
        "input 0 'X' has shape {}, the trees test {} features", str(x.shape), features_);
  return {Fact::tensor(dtype_, {x.shape[0], trees_->targets})};
}

void TreeEnsemble::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  const Trees& t = *trees_;
  check(x.shape[1] >= features_, ErrorKind::Shape,
        "input 0 'X' has shape {}, the trees test {} features", x.shape.str(), features_);
  if (x.shape[0] == 0) return;
  const auto targets = static_cast<std::size_t>(t.targets);
  // Tensors, so that the limit of tensors bounds them.
  Tensor row_tensor(DType::F64, Shape{t.targets}), voted_tensor(DType::Bool, Shape{t.targets});
  const auto row = row_tensor.mutable_span<double>();
  const auto voted = voted_tensor.mutable_span<bool>();
  std::vector<double> features(static_cast<std::size_t>(x.shape[1]));
  const auto vote = [&](const TreeVote& v) {
    const auto at = static_cast<std::size_t>(v.target);
    const bool first = !voted[at];
    voted[at] = true;
    if (t.aggregate == TreeAggregate::Min) {
      row[at] = first ? v.weight : std::min(row[at], v.weight);
    } else if (t.aggregate == TreeAggregate::Max) {
      row[at] = first ? v.weight : std::max(row[at], v.weight);
    } else {
      row[at] += v.weight;
    }
  };
  for (std::int64_t r = 0; r < x.shape[0]; ++r) {
    dispatch(x.dtype, [&]<typename T>(T) {
      const T* from = x.as<T>() + r * x.shape[1];
      for (double& f : features) f = static_cast<double>(widen(*from++));
    });
    std::fill(row.begin(), row.end(), 0.0);
    std::fill(voted.begin(), voted.end(), false);
    for (const std::int32_t root : t.roots) {
      std::int32_t at = root;
      while (at >= 0) {
        const TreeNode& n = t.nodes[static_cast<std::size_t>(at)];
        at = passes(n, features[static_cast<std::size_t>(n.feature)], t) ? n.yes : n.no;
      }
      const auto leaf = static_cast<std::size_t>(~at);
      for (std::int64_t v = t.leaf_starts[leaf]; v < t.leaf_starts[leaf + 1]; ++v) {
        vote(t.votes[static_cast<std::size_t>(v)]);
      }
    }
    for (std::size_t k = 0; k < targets; ++k) {
      if (!voted[k]) row[k] = t.unvoted;
      if (t.aggregate == TreeAggregate::Average && !t.roots.empty()) {
        row[k] /= static_cast<double>(t.roots.size());
      }
      if (!t.base.empty()) row[k] += t.base[k];
    }
    transform_scores(row, t.post);
    dispatch(dtype_, [&]<typename T>(T) {
      T* to = y.as<T>() + r * t.targets;
      for (const double v : row) *to++ = convert<T>(v);
    });
  }
}

}  // namespace treadle::ops
