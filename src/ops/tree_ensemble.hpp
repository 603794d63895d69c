#pragma once

#include "graph/operator.hpp"
#include "ops/score_transform.hpp"

namespace treadle::ops {

enum class TreeTest : std::int32_t {
  LessEqual,
  Less,
  GreaterEqual,
  Greater,
  Equal,
  NotEqual,
  Member
};
enum class TreeAggregate : std::uint8_t { Average, Sum, Min, Max };

// What Trees consists of. A child c ≥ 0 is a node, c < 0 the leaf ~c.
struct TreeNode {
  double split = 0;
  std::int32_t feature = 0;
  std::int32_t yes = 0, no = 0;
  TreeTest test = TreeTest::LessEqual;
  std::int32_t nan_is_yes = 0;
  std::int32_t members = 0;  // which of Trees::members, for Member
};
struct TreeVote {
  double weight = 0;
  std::int64_t target = 0;
};
struct Trees {
  std::vector<TreeNode> nodes;
  std::vector<std::int32_t> roots;        // children, as in TreeNode
  std::vector<std::int64_t> leaf_starts;  // the votes of leaf i are [leaf_starts[i], …[i + 1])
  std::vector<TreeVote> votes;
  std::vector<std::vector<double>> members;
  std::int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::Sum;
  PostTransform post = PostTransform::None;
  std::vector<double> base;  // added to each target; empty: 0
  double unvoted = 0;        // what a target has that no tree votes for, before the base
};

// Decision trees over the rows of x [N, F]: each gives the votes of one leaf; what a target gets of
// all trees is aggregated, then the row transformed: [N, targets] in `dtype`. Any real dtype; tests
// and sums in f64. The constructor throws Parse error unless every tree ends in leaves: children
// that do not exist, cycles, nodes with two parents and nodes in no tree are refused.
class TreeEnsemble final : public Operator {
 public:
  TreeEnsemble(Trees trees, DType dtype);
  TREADLE_OPERATOR(TreeEnsemble);

 private:
  std::shared_ptr<const Trees> trees_;
  DType dtype_;
  std::int64_t features_ = 0;  // that the nodes read
};

}  // namespace treadle::ops
