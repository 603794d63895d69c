#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs: one for each entry of `by_element`, a sequence where that is true, else any value; then
// captures. The body's inputs: an element of each sequence and the other values as they are, then
// the captures. It runs once for each element of input 0, a sequence, and output k is the sequence
// of what its output k was; its elements are of type `elements[k]`. Position i of each sequence
// goes to run i: Shape error when one is shorter than input 0.
class SequenceMap final : public Operator {
 public:
  std::shared_ptr<const Graph> body;
  std::vector<std::int64_t> by_element;  // 0 or 1
  std::vector<Fact> elements;
  TREADLE_OPERATOR(SequenceMap);
  std::vector<std::shared_ptr<const Graph>> subgraphs() const override { return {body}; }
  OperatorPtr with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const override;
};

}  // namespace treadle::ops
