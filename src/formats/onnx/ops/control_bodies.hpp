// What the importers of Loop and Scan share: bodies whose carried values change their type.
#pragma once

#include "formats/control.hpp"
#include "formats/onnx/importer.hpp"

namespace treadle::onnx {

using formats::Carried;

// Imports a body on `front`, the carried values, `back`; its outputs from `first` on are the
// carried values after an iteration.
Body import_widened(NodeContext& c, std::vector<Fact> front, Carried& carried,
                    const std::vector<Fact>& back, std::size_t first);

// The symbols that mean the same outside of the body.
ops::SymbolNames visible_symbols(NodeContext& c, const Body& body);

// The facts of the carried values after the last iteration.
std::vector<Fact> carried_outputs(NodeContext& c, const Carried& carried,
                                  const ops::SymbolNames& visible);

}  // namespace treadle::onnx
