// Loops that count: how many turns they make, and which arrays they fill element by element.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/control.hpp"

namespace treadle::tf {

// Body inputs: iteration, condition, carried variables, captures. Outputs: condition, variables.
struct LoopBody {
  const Graph& outer;
  const formats::Body& body;
  std::span<const ValueId> init;  // of the carried variables, in the outer graph

  const Graph& graph() const { return *body.graph; }
  ValueId variable(std::size_t k) const { return body.graph->inputs()[k + 2]; }
  ValueId next(std::size_t k) const { return body.graph->outputs()[k + 1]; }
};

// The number of turns when the condition is that counters, which start and step by constants, are
// below limits known in the outer graph: of one such comparison or of several joined by And.
std::optional<Dim> turns(const LoopBody& loop);

// When variable k is an array of which turn i does nothing but write element i: what it writes, in
// the body.
std::optional<ValueId> written_each_turn(const LoopBody& loop, std::size_t k);

}  // namespace treadle::tf
