// Sizes that inference took for equal without proof.
//
// Where an operator asks for equal sizes and one of them has symbols, its `infer` goes on as if
// they were equal. Whether they are shows only when the symbols have values: then the operator
// infers once more, from concrete shapes, before kernels are bound that rely on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "graph/operator.hpp"

namespace treadle {

struct ShapeCheck {
  OperatorPtr op;
  std::vector<std::optional<Fact>> in;  // nullopt: an omitted input
  std::vector<std::string> names;       // of the inputs
  std::vector<Fact> out;
  std::string label;  // "node 'conv1' (Conv)"
  int step = 0;       // the node runs in this step or, fused or as a view, next to it
};

// What has to be looked at for `n`; nullopt where no values of the symbols can make its inputs
// wrong, as far as two trials with unrelated sizes tell.
std::optional<ShapeCheck> shape_check(const Graph& graph, const Node& n, std::string label);

// Throws Shape error, naming the node, when its inputs do not fit each other or its outputs are not
// as large as memory was planned for. Every symbol of its inputs has a value.
void verify(const ShapeCheck& check, const SymbolValues& symbols);

}  // namespace treadle
