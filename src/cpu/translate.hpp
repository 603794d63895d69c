// The translators' interface: from a node to a kernel.
#pragma once

#include "cpu/chains.hpp"
#include "cpu/fuse.hpp"
#include "cpu/joins.hpp"
#include "graph/graph.hpp"
#include "plan/program.hpp"

namespace treadle::cpu {

// What a translator may ask about the node that it is given.
struct TranslateContext {
  const Graph& graph;
  const Node& node;
  const LowerOptions& options;
  // For producers that absorb what follows them; null otherwise. The kernel's residual, when there
  // is one, is its last input.
  const FusedEpilogue* fused = nullptr;
  // The links that one kernel is to compute, `node` being the last; its inputs are the chain's.
  // Null otherwise.
  const Chain* chain = nullptr;
  // Of a device's Conv: where its result goes when it is a part of a Concat's; null otherwise.
  const Join* join = nullptr;
  // Of a device's Concat: the inputs that their producers have written already; null: none.
  const std::vector<bool>* written = nullptr;

  const Fact& in(std::size_t i) const { return graph.fact(node.inputs[i]); }
  bool has(std::size_t i) const { return i < node.inputs.size() && node.inputs[i].present(); }
  const Fact& out(std::size_t i = 0) const { return node.outputs[i].fact; }
  // The constant elements of input i, or null.
  const Tensor* constant(std::size_t i) const { return has(i) ? in(i).value.get() : nullptr; }
};

struct Translation {
  KernelPtr kernel;  // null: this translator does not take the node
  int inplace = -1;  // see Step::inplace
};

// A translator decides from dtype and rank (sizes may be symbols; the kernel's bind sees numbers).
using Translator = Translation (*)(const TranslateContext&);

// The context's chain, or else the first translation that the table offers for the node; no kernel:
// it runs through eval.
Translation translate(const TranslateContext& ctx);

}  // namespace treadle::cpu
