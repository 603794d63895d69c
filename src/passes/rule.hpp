// What a rewrite rule is.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "graph/patch.hpp"

namespace treadle::passes {

// A pure function: the patch that the rule makes at this node, or nothing.
using RuleFn = std::optional<Patch> (*)(const Graph&, const Node&);

// Integers: only where integer kernels are asked for.
enum class Phase : std::uint8_t { Always, Integers, ChannelsLast, Last };

struct Rule {
  std::string_view name;
  // Operator kinds separated by spaces, or "*" for all.
  std::string_view kinds;
  RuleFn apply;
  Phase phase;
};

// All rules in the order in which they are tried on a node.
std::span<const Rule> rules();

// The rules' functions, for tests.
#define TREADLE_PASS(name, kinds) std::optional<Patch> name(const Graph& g, const Node& n);
#define TREADLE_INTEGER_PASS(name, kinds) TREADLE_PASS(name, kinds)
#define TREADLE_LAYOUT_PASS(name, kinds) TREADLE_PASS(name, kinds)
#define TREADLE_LAST_PASS(name, kinds) TREADLE_PASS(name, kinds)
#include "passes/table.inc"
#undef TREADLE_LAST_PASS
#undef TREADLE_LAYOUT_PASS
#undef TREADLE_INTEGER_PASS
#undef TREADLE_PASS

// Replaces nodes that compute the same by the first of them, in one pass over the graph; calls
// `merge` with a patch for each node that goes.
void common_subexpressions(Graph& g, const std::function<bool(const Node&, Patch)>& merge);

}  // namespace treadle::passes
