// ONNX files to graphs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.hpp"
#include "formats/options.hpp"
#include "graph/graph.hpp"

namespace treadle::onnx {

using formats::LoadOptions;
using formats::Problem;

// Newest opset of ai.onnx that is read.
inline constexpr std::int64_t kNewestOpset = 28;

// The model as a graph of core operators. Values keep the names that the file gives them. Weights
// stay in the mapped file where their alignment allows it. Throws Error: Io, Parse for a broken
// file, Unsupported for what treadle has not (one error lists every unknown operator), Shape and
// Type where operators and their inputs do not fit, formats::NeedsSizes where only sizes of inputs
// are wanting. The contexts name file, node and operator.
Graph load(const std::string& path, const LoadOptions& options = {});
// The same for a model in memory; `name` stands for the file in messages.
Graph load(std::shared_ptr<const MappedFile> file, const std::string& name,
           const LoadOptions& options = {});

// Inputs and outputs as the file and options.input_shapes declare them, without a look at the
// nodes. Throws what load() throws for them.
formats::Interface interface(std::shared_ptr<const MappedFile> file, const std::string& name,
                             const LoadOptions& options = {});

// Everything that keeps the model from being loaded: the import goes on after a node that fails,
// without what depends on it. Empty when load() would work. Never throws Error.
std::vector<Problem> check_model(const std::string& path, const LoadOptions& options = {});

}  // namespace treadle::onnx
