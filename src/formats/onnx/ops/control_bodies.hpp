// What the importers of Loop and Scan share: bodies whose carried values change their type.
#pragma once

#include <functional>

#include "formats/control.hpp"
#include "formats/onnx/importer.hpp"

namespace treadle::onnx {

using formats::Carried;

// Makes a body on the facts of its inputs.
using MakeBody = std::function<Body(std::span<const Fact>)>;
// Imports the attribute 'body'.
MakeBody body_maker(NodeContext& c);

// The body that `make` makes on `front`, the carried values, `back`; its outputs from `first` on
// are the carried values after an iteration. It is made anew until their types hold.
Body import_widened(NodeContext& c, const MakeBody& make, std::vector<Fact> front, Carried& carried,
                    const std::vector<Fact>& back, std::size_t first);

// The symbols that mean the same outside of the body.
ops::SymbolNames visible_symbols(NodeContext& c, const Body& body);

// The facts of the carried values after the last iteration.
std::vector<Fact> carried_outputs(NodeContext& c, const Carried& carried,
                                  const ops::SymbolNames& visible);

}  // namespace treadle::onnx
