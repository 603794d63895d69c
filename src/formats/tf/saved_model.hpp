// SavedModels: which of their graphs and which of its outputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace treadle::tf {

// Whether the bytes are a SavedModel and no GraphDef.
bool is_saved_model(std::string_view bytes);

// The graph that serves, and the values of its serving signature, in the order of their names
// there.
struct Served {
  std::string_view graph;
  std::vector<std::string> outputs;
};

// Throws Parse error for bytes that are no SavedModel, Unsupported error when it does not say which
// graph or signature serves.
Served served_graph(std::string_view bytes);

}  // namespace treadle::tf
