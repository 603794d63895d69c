// ai.onnx.ml TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "formats/onnx/ops/ml_common.hpp"
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/tree_ensemble.hpp"

namespace treadle::onnx {

using namespace ml;

namespace {

using Ints = std::vector<std::int64_t>;

Ints ints_of(NodeContext& c, std::string_view attr, std::optional<std::size_t> count) {
  auto values = c.ints_attr(attr);
  check(values.has_value(), ErrorKind::Parse, "attribute '{}' (ints) is required", attr);
  check(!count || values->size() == *count, ErrorKind::Parse,
        "attribute '{}' has {} entries, expected {}", attr, values->size(), count.value_or(0));
  return *std::move(values);
}

std::vector<double> doubles_of(NodeContext& c, const std::string& attr, const char* tensor_suffix,
                               std::optional<std::size_t> count) {
  // With an empty suffix the attribute itself is a tensor.
  std::optional<std::vector<double>> values;
  if (c.has_attr(attr + tensor_suffix)) {
    values = c.tensor_attr(attr + tensor_suffix)->to_f64();
  } else if (*tensor_suffix != '\0') {
    values = c.floats_attr(attr);
  }
  check(values.has_value(), ErrorKind::Parse, "attribute '{}' is required", attr);
  check(!count || values->size() == *count, ErrorKind::Parse,
        "attribute '{}' has {} entries, expected {}", attr, values->size(), count.value_or(0));
  return *std::move(values);
}

// An index of the file as one of the core operator's, which are narrower.
std::int32_t narrow(std::int64_t v, std::string_view attr) {
  check(v >= 0 && v < std::numeric_limits<std::int32_t>::max(), ErrorKind::Parse,
        "attribute '{}' holds {}", attr, v);
  return static_cast<std::int32_t>(v);
}

// The sets of members, which NaNs end.
std::vector<std::vector<double>> member_sets(NodeContext& c) {
  std::vector<std::vector<double>> sets(1);
  if (const auto t = c.tensor_attr("membership_values")) {
    for (const double v : t->to_f64()) {
      if (std::isnan(v)) {
        sets.emplace_back();
      } else {
        sets.back().push_back(v);
      }
    }
  }
  return sets;
}

template <typename T, std::size_t N>
T named(const std::array<std::string_view, N>& names, std::string_view name,
        std::string_view attr) {
  const auto at = std::find(names.begin(), names.end(), name);
  check(at != names.end(), ErrorKind::Parse, "attribute '{}' holds '{}'", attr, name);
  return static_cast<T>(at - names.begin());
}

constexpr std::array<std::string_view, 4> kAggregate{"AVERAGE", "SUM", "MIN", "MAX"};
constexpr std::array<std::string_view, 6> kTests{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                 "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

// The nodes of the older operators: (tree, node) → a child, with leaves numbered apart.
struct OldNodes {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> child_of;
  std::int32_t leaves = 0;

  std::int32_t find(std::int64_t tree, std::int64_t node, std::string_view what) const {
    const auto it = child_of.find({tree, node});
    check(it != child_of.end(), ErrorKind::Parse,
          "{} refers to node {} of tree {}, which is not there", what, node, tree);
    return it->second;
  }
};

// Fills nodes and roots from the attributes nodes_*.
OldNodes old_nodes(NodeContext& c, ops::Trees& t) {
  const Ints trees = ints_of(c, "nodes_treeids", std::nullopt);
  const std::size_t n = trees.size();
  const Ints ids = ints_of(c, "nodes_nodeids", n), features = ints_of(c, "nodes_featureids", n);
  const Ints yes = ints_of(c, "nodes_truenodeids", n), no = ints_of(c, "nodes_falsenodeids", n);
  const auto splits = doubles_of(c, "nodes_values", "_as_tensor", n);
  const auto modes = c.strings_attr("nodes_modes");
  check(modes && modes->size() == n, ErrorKind::Parse,
        "attribute 'nodes_modes' must have {} entries", n);
  const auto missing = c.ints_attr("nodes_missing_value_tracks_true");
  check(!missing || missing->empty() || missing->size() == n, ErrorKind::Parse,
        "attribute 'nodes_missing_value_tracks_true' has {} entries, expected {}",
        missing ? missing->size() : 0, n);
  OldNodes out;
  std::int32_t inner = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t child = (*modes)[i] == "LEAF" ? ~out.leaves++ : inner++;
    check(out.child_of.emplace(std::pair(trees[i], ids[i]), child).second, ErrorKind::Parse,
          "node {} of tree {} is there twice", ids[i], trees[i]);
  }
  std::vector<bool> inner_child(static_cast<std::size_t>(inner), false);
  std::vector<bool> leaf_child(static_cast<std::size_t>(out.leaves), false);
  const auto mark = [&](std::int32_t child) {
    if (child >= 0) {
      inner_child[static_cast<std::size_t>(child)] = true;
    } else {
      leaf_child[static_cast<std::size_t>(~child)] = true;
    }
    return child;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if ((*modes)[i] == "LEAF") continue;
    ops::TreeNode node;
    node.split = splits[i];
    node.feature = narrow(features[i], "nodes_featureids");
    node.test = named<ops::TreeTest>(kTests, (*modes)[i], "nodes_modes");
    node.yes = mark(out.find(trees[i], yes[i], "nodes_truenodeids"));
    node.no = mark(out.find(trees[i], no[i], "nodes_falsenodeids"));
    node.nan_is_yes = missing && !missing->empty() && (*missing)[i] != 0 ? 1 : 0;
    t.nodes.push_back(node);
  }
  // What is no child of another node is a root; each tree must have one, or it goes in a circle.
  std::map<std::int64_t, int> roots;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t child = out.child_of.at({trees[i], ids[i]});
    const bool is_child = child >= 0 ? inner_child[static_cast<std::size_t>(child)]
                                     : leaf_child[static_cast<std::size_t>(~child)];
    int& count = roots[trees[i]];
    if (is_child) continue;
    ++count;
    t.roots.push_back(child);
  }
  for (const auto& [tree, count] : roots) {
    check(count == 1, ErrorKind::Parse, "tree {} has {} roots", tree, count);
  }
  return out;
}

// Votes of the older operators, PREFIX_treeids and so on, and base values.
void old_votes(NodeContext& c, const OldNodes& nodes, const std::string& prefix, ops::Trees& t) {
  const Ints trees = ints_of(c, prefix + "_treeids", std::nullopt);
  const Ints ids = ints_of(c, prefix + "_nodeids", trees.size());
  const Ints targets = ints_of(c, prefix + "_ids", trees.size());
  const auto weights = doubles_of(c, prefix + "_weights", "_as_tensor", trees.size());
  std::vector<std::vector<ops::TreeVote>> votes(static_cast<std::size_t>(nodes.leaves));
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const std::int32_t leaf = nodes.find(trees[i], ids[i], prefix + "_nodeids");
    check(leaf < 0, ErrorKind::Parse, "node {} of tree {} votes and is no leaf", ids[i], trees[i]);
    votes[static_cast<std::size_t>(~leaf)].push_back({weights[i], targets[i]});
  }
  t.leaf_starts.push_back(0);
  for (const auto& v : votes) {
    t.votes.insert(t.votes.end(), v.begin(), v.end());
    t.leaf_starts.push_back(static_cast<std::int64_t>(t.votes.size()));
  }
  if (c.has_attr("base_values") || c.has_attr("base_values_as_tensor")) {
    t.base = doubles_of(c, "base_values", "_as_tensor", std::nullopt);
  }
}

}  // namespace

std::vector<ValueId> import_tree_ensemble(NodeContext& c) {
  ops::Trees t;
  const Ints features = ints_of(c, "nodes_featureids", std::nullopt);
  const std::size_t n = features.size();
  const Ints yes = ints_of(c, "nodes_truenodeids", n), no = ints_of(c, "nodes_falsenodeids", n);
  const Ints yes_leaf = ints_of(c, "nodes_trueleafs", n),
             no_leaf = ints_of(c, "nodes_falseleafs", n);
  const auto splits = doubles_of(c, "nodes_splits", "", n);
  const auto modes = c.tensor_attr("nodes_modes");
  check(modes && modes->elements() == static_cast<std::int64_t>(n), ErrorKind::Parse,
        "attribute 'nodes_modes' must have {} entries", n);
  const Ints tests = modes->to_i64();
  const Ints missing = c.ints_attr("nodes_missing_value_tracks_true").value_or(Ints(n, 0));
  check(missing.size() == n, ErrorKind::Parse,
        "attribute 'nodes_missing_value_tracks_true' has {} entries, expected {}", missing.size(),
        n);
  t.members = member_sets(c);
  std::int32_t sets = 0;
  for (std::size_t i = 0; i < n; ++i) {
    check(tests[i] >= 0 && tests[i] <= 6, ErrorKind::Parse, "attribute 'nodes_modes' holds {}",
          tests[i]);
    ops::TreeNode node;
    node.split = splits[i];
    node.feature = narrow(features[i], "nodes_featureids");
    node.test = static_cast<ops::TreeTest>(tests[i]);
    node.yes = narrow(yes[i], "nodes_truenodeids");
    node.no = narrow(no[i], "nodes_falsenodeids");
    if (yes_leaf[i] != 0) node.yes = ~node.yes;
    if (no_leaf[i] != 0) node.no = ~node.no;
    node.nan_is_yes = missing[i] != 0 ? 1 : 0;
    if (node.test == ops::TreeTest::Member) node.members = sets++;
    t.nodes.push_back(node);
  }
  for (const std::int64_t r : ints_of(c, "tree_roots", std::nullopt)) {
    t.roots.push_back(narrow(r, "tree_roots"));
  }
  const Ints targets = ints_of(c, "leaf_targetids", std::nullopt);
  const auto weights = doubles_of(c, "leaf_weights", "", targets.size());
  t.leaf_starts.push_back(0);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    t.votes.push_back({weights[i], targets[i]});
    t.leaf_starts.push_back(static_cast<std::int64_t>(i) + 1);
  }
  t.targets = c.int_attr("n_targets", 1);
  const std::int64_t post = c.int_attr("post_transform", 0);
  const std::int64_t aggregate = c.int_attr("aggregate_function", 1);
  check(post >= 0 && post <= 4 && aggregate >= 0 && aggregate <= 3, ErrorKind::Parse,
        "attributes 'post_transform' and 'aggregate_function' are {} and {}", post, aggregate);
  t.post = static_cast<ops::PostTransform>(post);
  t.aggregate = static_cast<ops::TreeAggregate>(aggregate);
  return {c.add1(make_op<ops::TreeEnsemble>(std::move(t), c.fact(0).dtype), {c.in(0)})};
}

std::vector<ValueId> import_tree_ensemble_regressor(NodeContext& c) {
  ops::Trees t;
  old_votes(c, old_nodes(c, t), "target", t);
  t.targets = c.int_attr("n_targets", std::nullopt);
  t.post = post_attr(c);
  t.aggregate = named<ops::TreeAggregate>(kAggregate, c.string_attr("aggregate_function", "SUM"),
                                          "aggregate_function");
  return {c.add1(make_op<ops::TreeEnsemble>(std::move(t), DType::F32), {c.in(0)})};
}

// Of two classes whose trees vote for one alone, the standard says nothing: as ONNX Runtime 1.32.
std::vector<ValueId> import_tree_ensemble_classifier(NodeContext& c) {
  const Tensor labels = class_labels(c, "classlabels_int64s");
  ops::Trees t;
  old_votes(c, old_nodes(c, t), "class", t);
  const auto post = post_attr(c);
  const ValueId x = as_rows(c, c.in(0));
  t.targets = labels.elements();
  const std::int64_t voted = t.votes.empty() ? 0 : t.votes[0].target;
  const bool one = t.targets == 2 && (voted == 0 || voted == 1) && t.base.size() <= 1 &&
                   std::all_of(t.votes.begin(), t.votes.end(),
                               [&](const ops::TreeVote& v) { return v.target == voted; });
  if (!one) {
    // The top class is one that some tree votes for.
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    if (t.base.empty()) t.unvoted = kNone;
    const ValueId votes = c.add1(make_op<ops::TreeEnsemble>(std::move(t), DType::F32), {x});
    const ValueId zero = ops::scalar_like(c.graph(), c.fresh_name(), 0, votes);
    const ValueId scores = select(c, binary(c, BinaryFn::Equal, votes, kNone), zero, votes);
    return {labels_at(c, labels, top_class(c, votes)), transformed(c, scores, post)};
  }
  check(voted == 0 || t.base.empty(), ErrorKind::Parse,
        "attribute 'base_values' has 1 entry, expected 2");
  const bool positive = std::all_of(t.votes.begin(), t.votes.end(),
                                    [](const ops::TreeVote& v) { return v.weight >= 0; });
  const double threshold = positive ? 0.5 : 0;
  if (voted == 1) {
    const ValueId scores = c.add1(make_op<ops::TreeEnsemble>(std::move(t), DType::F32), {x});
    const ValueId second = slice(c, scores, 1, 1, 1);
    return {labels_at(c, labels, above(c, second, threshold)), transformed(c, scores, post)};
  }
  t.targets = 1;
  const ValueId s = c.add1(make_op<ops::TreeEnsemble>(std::move(t), DType::F32), {x});
  return {labels_at(c, labels, above(c, s, threshold)), two_scores(c, s, post, !positive)};
}

}  // namespace treadle::onnx
