// Lowering to the CPU: each node, or a fused group, gets a kernel.
#pragma once

#include <memory>

#include "graph/graph.hpp"
#include "plan/program.hpp"

namespace treadle::cpu {

// Lowers a simplified graph. Graph outputs keep their names and layouts. A constant that a kernel
// has packed is let go at once: move the graph in, so that weights are not in memory twice.
std::shared_ptr<const Program> lower(Graph graph, const LowerOptions& options);

}  // namespace treadle::cpu
