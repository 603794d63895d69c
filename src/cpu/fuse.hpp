// Which nodes run inside the kernel of the convolution or matrix product that feeds them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "kernels/epilogue.hpp"

namespace treadle::cpu {

struct IntegerProduct;
struct ByteChain;

// Of Conv, ConvTranspose and Contract, where they have kernels on the CPU.
inline constexpr std::array kProductDTypes{DType::F32};

// The node that reads v as one of its inputs, when nothing else does and v is no output; or null.
const Node* only_user(const Graph& graph, ValueId v);

// Whether a kernel of the target computes the node and takes an epilogue over its last axis.
using TakesEpilogue = std::function<bool(const Graph&, const Node&)>;
// On the CPU.
bool has_epilogue_kernel(const Graph& graph, const Node& node);

// What follows a producer: out = act(product + bias + residual), or act(product + bias) + residual.
struct FusedEpilogue {
  const Tensor* bias = nullptr;  // over the last axis of the output
  ValueId residual;
  bool residual_before_act = false;
  kernels::Act act = kernels::Act::None;
  float a = 0, b = 0;
  const Tensor* slope = nullptr;  // PRelu, over the last axis
  std::string text;               // "+Add +Relu"
  ValueId result;                 // the value that the fused step makes
  std::vector<NodeId> members;    // what was absorbed, in order
  // Of steps over 8-bit values, which use none of the above but text, result and members: one of
  // the two forms, and what the step reads in place of the producer's inputs.
  std::shared_ptr<const IntegerProduct> integer;  // cpu/integer_products.hpp
  std::shared_ptr<const ByteChain> bytes;         // cpu/byte_chains.hpp
  std::vector<std::pair<std::size_t, ValueId>> replaced;
};

// Producers (Conv, ConvTranspose, Contract, BlockMatMul) to what they absorb; `absorbed` says for
// each node id whether its work is done elsewhere.
struct Fusions {
  std::unordered_map<NodeId, FusedEpilogue> of;  // by producer
  std::unordered_map<NodeId, NodeId> tail;       // last absorbed node → producer
  std::vector<bool> absorbed;                    // by node id; producers with a tail included
  std::vector<bool> heads;  // by node id: makes an input that a fused step replaces
};
// `stays_alone` names operators that are in no epilogue.
Fusions find_fusions(const Graph& graph, const std::vector<NodeId>& order,
                     const TakesEpilogue& takes_epilogue, std::span<const std::string> stays_alone);

// Absorbs the heads that nothing reads but fused steps, in place of which they read something else.
void absorb_heads(const Graph& graph, const std::vector<NodeId>& order, Fusions& fusions);

}  // namespace treadle::cpu
