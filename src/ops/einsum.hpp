// numpy's einsum, as a graph.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace treadle::ops {

// The equation's terms ("bij,bjk->bik", "...i,i->...", "ii->i") become the letters of one Contract;
// a single input is summed and transposed. Without "->" the letters that occur once remain. Throws
// Parse error for a malformed equation, Shape error when a term does not fit its input.
ValueId einsum(Graph& g, const std::string& name, const std::string& equation,
               std::vector<ValueId> inputs);

}  // namespace treadle::ops
