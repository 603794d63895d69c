// Rewrites that hold on every target, run until none fires.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace treadle {

struct SimplifyOptions {
  // Applies patches numbered 0 … stop_after_patch − 1 only; negative: all. For bisecting.
  int stop_after_patch = -1;
  // Called after each patch: its number, the rule, the node that the rule looked at.
  std::function<void(int, std::string_view rule, const std::string& node)> trace;
  // Also turns channels-first convolutions and pools into channels-last ones between transposes,
  // and moves these transposes towards the outputs until they cancel. For the CPU.
  bool channels_last = false;
  // Also computes what quantised graphs do in f32 between DequantizeLinear and QuantizeLinear with
  // integers, as ONNX Runtime does: results may differ from those in f32 by a step. For the CPU.
  bool integer_products = false;
};

struct SimplifyReport {
  int patches = 0;
  std::map<std::string, int, std::less<>> fired;  // patches by rule
  std::int64_t calls = 0;                         // rule invocations
  // Times a rule threw an Error (sizes that overflow, say): it then counts as not fired.
  std::int64_t refused = 0;
  // True when the limit on patches (a multiple of the nodes) was met: a rule does not terminate.
  bool exhausted = false;
};

// Simplifies the graph and, first, the bodies of its control-flow operators. Inputs and outputs
// keep their order, names and facts. What no output needs is removed.
// Throws Internal error, with rule and node as context, when a rule breaks the graph.
SimplifyReport simplify(Graph& graph, const SimplifyOptions& options = {});

}  // namespace treadle
