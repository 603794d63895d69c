// From elementwise operators to steps of an elementwise program.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.hpp"
#include "kernels/elementwise/program.hpp"
#include "plan/kernel.hpp"

namespace treadle::cpu {

// The step that computes a Unary or Binary operator over f32 from the program's values x and y
// (Unary: x only); nullopt when there is no fast form of it.
std::optional<kernels::ElementwiseStep> elementwise_step(const Operator& op, int x, int y = 0);
// The same of a node, some of whose inputs may be constants: x to the power 2 is a square.
std::optional<kernels::ElementwiseStep> elementwise_step(const Graph& graph, const Node& node,
                                                         int x, int y = 0);

// A kernel over f32 inputs of equal rank that broadcast to its one output.
KernelPtr elementwise_kernel(std::string_view name, kernels::ElementwiseProgram program);

}  // namespace treadle::cpu
