// ONNX files to graphs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.hpp"
#include "graph/graph.hpp"

namespace treadle::onnx {

struct LoadOptions {
  Limits limits;
  // Shapes of inputs by name, in place of what the file declares. An initializer that the file also
  // lists as an input becomes an input when it is named here.
  std::map<std::string, SymShape, std::less<>> input_shapes;
  // Sizes for dimension labels: batch=4.
  SymbolValues symbols;
  // Inner values that become inputs: what computes them is cut off, and so are the file's inputs
  // that nothing needs any more.
  std::vector<std::string> inputs;
  // When not empty: the values that become the outputs, in place of the file's.
  std::vector<std::string> outputs;
  // Values that become outputs after the others.
  std::vector<std::string> extra_outputs;
  // Where external data of a model that is loaded from memory lies.
  std::optional<std::string> folder;
};

// Newest opset of ai.onnx that is read.
inline constexpr std::int64_t kNewestOpset = 28;

// The model as a graph of core operators. Values keep the names that the file gives them. Weights
// stay in the mapped file where their alignment allows it. Throws Error: Io, Parse for a broken
// file, Unsupported for what treadle has not (one error lists every unknown operator), Shape and
// Type where operators and their inputs do not fit. The contexts name file, node and operator.
Graph load(const std::string& path, const LoadOptions& options = {});
// The same for a model in memory; `name` stands for the file in messages.
Graph load(std::shared_ptr<const MappedFile> file, const std::string& name,
           const LoadOptions& options = {});

struct Problem {
  ErrorKind kind = ErrorKind::Parse;
  std::string text;
};

// Everything that keeps the model from being loaded: the import goes on after a node that fails,
// without what depends on it. Empty when load() would work. Never throws Error.
std::vector<Problem> check_model(const std::string& path, const LoadOptions& options = {});

}  // namespace treadle::onnx
