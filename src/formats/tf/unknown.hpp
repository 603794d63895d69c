// What of a graph has no importer.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tf/nodes.hpp"

namespace treadle::tf {

// Operator → names of its nodes, among the needed nodes of a graph and all of the functions that
// they call. `input(node)`: it becomes an input of the graph.
using UnknownOperators = std::map<std::string, std::vector<std::string>>;
UnknownOperators unknown_operators(const Nodes& nodes, const std::vector<bool>& needed,
                                   const std::map<std::string_view, const FunctionDef*>& functions,
                                   const std::function<bool(const NodeDef&)>& input);

// What is to be said of an unknown operator beside its name; may be empty.
std::string why_unknown(std::string_view op);

}  // namespace treadle::tf
