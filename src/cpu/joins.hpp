// Which convolutions can write their result straight into the Concat that they feed.
#pragma once

#include <map>
#include <vector>

#include "cpu/fuse.hpp"
#include "graph/graph.hpp"

namespace treadle::cpu {

// Where a value lies in the result of a Concat along the last axis.
struct Join {
  NodeId concat = 0;
  std::size_t input = 0;     // of the Concat
  std::int64_t column = 0;   // the first one
  std::int64_t columns = 0;  // of the whole result
};

// By the node that makes the value: results of a Conv and what is fused with it, which only the
// Concat reads. Channels are constants; none when a size in the graph depends on data, since memory
// is then planned in parts.
std::map<NodeId, Join> find_joins(const Graph& graph, const std::vector<NodeId>& order,
                                  const Fusions& fusions, const TakesEpilogue& takes_epilogue);

}  // namespace treadle::cpu
