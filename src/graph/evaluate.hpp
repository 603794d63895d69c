// Reference evaluation: one operator, or a whole graph, through eval alone.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.hpp"

namespace treadle {

// Evaluates one operator on concrete inputs (an omitted one is nullptr). Throws what infer and eval
// throw. `symbols` gives values to symbolic parameters.
std::vector<Value> evaluate(const Operator& op, std::span<const Value* const> inputs,
                            const SymbolValues& symbols = {});
// The same for tensors.
std::vector<Tensor> evaluate(const Operator& op, const std::vector<Tensor>& inputs);

// Called after each node with its outputs.
using Observer = std::function<void(const Node&, const std::vector<Value>&)>;

// Runs the graph node by node. `inputs` in the order of graph.inputs(). Symbols are solved from the
// inputs' shapes. Slow and plain: what every optimised path is compared with.
std::vector<Value> evaluate(const Graph& graph, std::vector<Value> inputs,
                            SymbolValues symbols = {}, const Observer& observer = {});

// Gives values to the symbols in `fact` from the actual shape; throws Shape error that names
// `what`, expected and got when rank, dtype, a constant size or an already solved symbol disagrees.
void solve_symbols(const Fact& fact, DType dtype, const Shape& shape, std::string_view what,
                   SymbolValues& symbols);
// Throws Type error that names `what`, expected and got when a value given for a sequence or an
// optional is none, or holds elements of another kind or dtype.
void check_container(const Fact& fact, const Value& value, std::string_view what);

}  // namespace treadle
