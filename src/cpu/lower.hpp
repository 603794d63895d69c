// Lowering to the CPU: each node, or a fused group, gets a kernel.
#pragma once

#include <memory>

#include "graph/graph.hpp"
#include "plan/program.hpp"

namespace treadle::cpu {

// Lowers a simplified graph. Graph outputs keep their names and layouts.
std::shared_ptr<const Program> lower(const Graph& graph, const LowerOptions& options);

}  // namespace treadle::cpu
