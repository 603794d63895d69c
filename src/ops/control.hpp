// Control flow. Bodies are graphs whose captured outer values are explicit inputs.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs: condition (one Bool), then what the branches capture (both branches take all of them, in
// order). Output facts are `facts` (sizes that differ between branches are fresh symbols).
class If final : public Operator {
 public:
  std::shared_ptr<const Graph> then_branch, else_branch;
  std::vector<Fact> facts;
  TREADLE_OPERATOR(If);
  std::vector<std::shared_ptr<const Graph>> subgraphs() const override {
    return {then_branch, else_branch};
  }
  OperatorPtr with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const override;
};

// ONNX Loop. Inputs: optional trip count (i64), optional condition (Bool), `carried` loop-carried
// values, then captures. Body inputs: iteration (i64 scalar), condition, carried, captures; body
// outputs: condition, carried, scan outputs. Outputs: final carried, then scan outputs stacked on a
// new axis 0. `facts` are those of the outputs. A value that the body takes as an optional and
// gives as what that holds is carried as an optional, and opened after the last iteration.
class Loop final : public Operator {
 public:
  std::shared_ptr<const Graph> body;
  std::int64_t carried = 0;
  std::vector<Fact> facts;
  TREADLE_OPERATOR(Loop);
  std::vector<std::shared_ptr<const Graph>> subgraphs() const override { return {body}; }
  OperatorPtr with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const override;
};

// ONNX Scan as from opset 9 on. Inputs: `states` initial states, scanned inputs (one an entry of
// input_axes), then captures. Outputs: final states, then scan outputs.
class Scan final : public Operator {
 public:
  std::shared_ptr<const Graph> body;
  std::int64_t states = 0;
  std::vector<std::int64_t> input_axes, input_reversed, output_axes, output_reversed;
  std::vector<Fact> facts;
  TREADLE_OPERATOR(Scan);
  std::vector<std::shared_ptr<const Graph>> subgraphs() const override { return {body}; }
  OperatorPtr with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const override;
};

}  // namespace treadle::ops
