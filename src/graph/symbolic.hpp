// Shape arithmetic: integer elements that are expressions over symbols.
#pragma once

#include <functional>
#include <vector>

#include "graph/operator.hpp"

namespace treadle {

// For operators with moves_elements(): moves the inputs' symbolic elements through op.eval and sets
// `dims` of out[0]. Does nothing when an input's elements are unknown, the output's shape is not
// constant, or too large.
void fold_symbolic_moves(const Operator& op, InputFacts in, std::vector<Fact>& out);

// For elementwise integer operators: out.dims[i] = f(elements of the inputs broadcast to out.shape).
// Inputs must have known elements; does nothing otherwise.
void fold_symbolic_elementwise(InputFacts in, Fact& out,
                               const std::function<Dim(std::span<const Dim>)>& f);

}  // namespace treadle
