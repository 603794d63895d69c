// Lowering to the CPU: each node, or a fused group, gets a kernel.
#pragma once

#include <memory>

#include "cpu/translate.hpp"
#include "graph/graph.hpp"
#include "plan/program.hpp"

namespace treadle::cpu {

// What a device makes of a node.
struct DeviceTranslation {
  KernelPtr kernel;  // null: the device does not take the node
  int inplace = -1;  // see Step::inplace
  std::string why_not = {};
};

// A device that takes those nodes for which it has kernels.
class DeviceTarget {
 public:
  virtual ~DeviceTarget() = default;
  virtual const std::shared_ptr<Device>& device() const = 0;
  // Constants are copied through it while lowering.
  virtual DeviceQueue& uploads() = 0;
  // See TakesEpilogue; true too for what the CPU's kernels take when the device refuses it.
  virtual bool takes_epilogue(const Graph& graph, const Node& node) const = 0;
  virtual ChainLimits chain_limits() const = 0;
  // A kernel must take whatever epilogue or chain the context brings.
  virtual DeviceTranslation translate(const TranslateContext& ctx) = 0;
};

// Lowers a simplified graph. Graph outputs keep their names and layouts. A constant that a kernel
// has packed is let go at once: move the graph in, so that weights are not in memory twice. With a
// target, nodes go to the device where it takes them, values are copied between the memories where
// they must, each once; Unsupported error when options.require_device and it refuses one.
std::shared_ptr<const Program> lower(Graph graph, const LowerOptions& options,
                                     DeviceTarget* target = nullptr);

}  // namespace treadle::cpu
