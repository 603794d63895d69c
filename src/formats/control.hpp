// What importers of control flow share: bodies with their captures, and the types of values that an
// iteration or a branch passes on.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "ops/unify.hpp"

namespace treadle::formats {

// A body imported with its captures as explicit trailing inputs.
struct Body {
  std::shared_ptr<Graph> graph;
  std::vector<ValueId> captured;  // values of the outer graph, in the order of the trailing inputs
};

// The one boolean that a value is known to hold.
std::optional<bool> known_truth(const Fact& f);

// Adds the symbols in the facts of values of `g`.
void add_symbols(const Graph& g, std::span<const ValueId> values, ops::SymbolNames& out);

// The If of two bodies without formal inputs and with as many outputs, and its inputs; `name` names
// its fresh sizes.
std::pair<OperatorPtr, std::vector<ValueId>> make_if(Graph& outer, const std::string& name,
                                                     ValueId condition, Body then_body,
                                                     Body else_body);

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

}  // namespace treadle::formats
