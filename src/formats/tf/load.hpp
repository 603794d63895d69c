// TensorFlow frozen graphs (a GraphDef, or a SavedModel's) to graphs of core operators.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.hpp"
#include "formats/options.hpp"
#include "graph/graph.hpp"

namespace treadle::tf {

using formats::LoadOptions;
using formats::Problem;

// A value is named "node" or "node:1". Inputs are the Placeholders that the outputs need, or those
// named in options.inputs, which cut the graph there; outputs are the nodes that nothing reads, or
// those named in options.outputs. Throws Error: Parse for a broken file, Unsupported for what
// treadle has not (one error lists every unknown operator), Shape and Type where operators and
// their inputs do not fit, formats::NeedsSizes where only the shape of an input is wanting.
Graph load(const std::string& path, const LoadOptions& options = {});
Graph load(std::shared_ptr<const MappedFile> file, const std::string& name,
           const LoadOptions& options = {});

// Inputs, in the order of the file, and outputs as load() takes them; shapes of outputs are not
// known, nor are those of inputs that neither the file nor the options give. Throws what load()
// throws for a broken file.
formats::Interface interface(std::shared_ptr<const MappedFile> file, const std::string& name,
                             const LoadOptions& options = {});

// Everything that keeps the model from being loaded; empty when load() would work.
std::vector<Problem> check_model(std::shared_ptr<const MappedFile> file, const std::string& name,
                                 const LoadOptions& options = {});

}  // namespace treadle::tf
