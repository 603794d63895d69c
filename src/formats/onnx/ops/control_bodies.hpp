// What the importers of Loop and Scan share: bodies whose carried values change their type.
#pragma once

#include "formats/onnx/importer.hpp"
#include "ops/unify.hpp"

namespace treadle::onnx {

// Adds the symbols of the values' facts.
void add_symbols(const Graph& g, std::span<const ValueId> values, ops::SymbolNames& out);

// Loop-carried values whose type the body changes are widened until one type fits all iterations.
class Carried {
 public:
  std::vector<Fact> facts;

  // Widens value k by what an iteration gives; false when it fitted already.
  bool widen(std::size_t k, const Fact& out, Graph& graph, const std::string& what);
  // The type of value k after the last iteration: an optional that each iteration gives a value to
  // is that value.
  const Fact& final_fact(std::size_t k) const;

 private:
  bool is_widened(const Dim& d) const;
  bool fits(const Fact& have, const Fact& out) const;

  ops::SymbolNames widened_;         // sizes that differ between iterations
  std::vector<std::size_t> opened_;  // optionals that iterations give the element of
};

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
