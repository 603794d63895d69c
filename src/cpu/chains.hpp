// Sequences of elementwise operators that one kernel computes.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpu/fuse.hpp"
#include "graph/graph.hpp"

namespace treadle::cpu {

// Unary and Binary nodes, each read by the next one only, all results of one float dtype and one
// shape. The first starts from its input 0; every following one works on the result before it. The
// operands broadcast to the shape of the results.
struct Chain {
  struct Link {
    NodeId node = 0;
    int operand = -1;            // Binary: number of the other operand among `inputs`
    bool operand_first = false;  // f(operand, result before)
  };
  std::vector<Link> links;
  std::vector<ValueId> inputs;  // distinct; 0 is what the first link starts from
  std::string text;             // " +mul +relu": what follows the first link
};

struct Chains {
  std::unordered_map<NodeId, Chain> by_tail;
  std::vector<bool> members;  // by node id; tails included
};

// What one kernel of the target can take.
struct ChainLimits {
  std::size_t inputs = 0, links = 0;
  // Whether it computes a Unary, or a Binary as f(result before, operand) or the other way round.
  std::function<bool(const Operator& op, DType dtype, bool operand_first)> takes;
};

// Of at least two nodes, none of which is part of `fusions`. Each begins as early in `order` and
// goes on as far as it can: where two meet, the one that begins first goes on.
Chains find_chains(const Graph& graph, const std::vector<NodeId>& order, const Fusions& fusions,
                   const ChainLimits& limits);

}  // namespace treadle::cpu
