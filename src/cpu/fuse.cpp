#include "cpu/fuse.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cpu/contract_plan.hpp"
#include "cpu/conv_desc.hpp"
#include "ops/binary.hpp"
#include "ops/block_matmul.hpp"
#include "ops/contract.hpp"
#include "ops/function_name.hpp"
#include "ops/unary.hpp"

namespace treadle::cpu {
namespace {

using kernels::Act;

bool absorb_unary(const ops::Unary& u, FusedEpilogue& e) {
  if (e.act != Act::None) return false;
  const auto set = [&](Act act, double a = 0, double b = 0) {
    e.act = act;
    e.a = static_cast<float>(a);
    e.b = static_cast<float>(b);
    return true;
  };
  switch (u.fn) {
    case ops::UnaryFn::Relu:
      return set(Act::Relu);
    case ops::UnaryFn::Clip:
      return set(Act::Clip, u.a, u.b);
    case ops::UnaryFn::LeakyRelu:
      return set(Act::LeakyRelu, u.a);
    case ops::UnaryFn::Elu:
      return set(Act::Elu, u.a);
    case ops::UnaryFn::HardSigmoid:
      return set(Act::HardSigmoid, u.a, u.b);
    case ops::UnaryFn::HardSwish:
      return set(Act::HardSwish, 1.0 / 6.0, 0.5);
    case ops::UnaryFn::Sigmoid:
      return set(Act::Sigmoid);
    case ops::UnaryFn::Silu:
      return u.a == 1.0 && set(Act::Silu);
    case ops::UnaryFn::Tanh:
      return set(Act::Tanh);
    case ops::UnaryFn::Gelu:
      return set(Act::Gelu);
    case ops::UnaryFn::GeluTanh:
      return set(Act::Gelu, 1);
    default:
      return false;
  }
}

// A constant that varies along the last axis of `out` only, once for each of its elements.
const Tensor* over_last_axis(const Fact& f, const Fact& out) {
  if (!f.value || f.dtype != out.dtype || f.rank() != out.rank()) return nullptr;
  const Dim& last = out.shape.back();
  if (!last.is_const() || f.value->elements() != last.value()) return nullptr;
  return f.shape.back() == last ? f.value.get() : nullptr;
}

bool absorb_binary(const Graph& g, const Node& n, ValueId through, FusedEpilogue& e) {
  const auto& binary = *n.op->as<ops::Binary>();
  const std::size_t side = n.inputs[0] == through ? 0 : 1;
  const ValueId other = n.inputs[1 - side];
  const Fact& out = n.outputs[0].fact;
  const Fact& f = g.fact(other);
  if (!(out.shape == g.fact(through).shape) || other == through) return false;
  if (binary.fn == ops::BinaryFn::PRelu && side == 0 && e.act == Act::None) {
    e.slope = over_last_axis(f, out);
    if (e.slope) e.act = Act::PRelu;
    return e.slope != nullptr;
  }
  if (binary.fn != ops::BinaryFn::Add || e.residual.present()) return false;
  if (e.act == Act::None && !e.bias) {
    if (const Tensor* bias = over_last_axis(f, out)) {
      e.bias = bias;
      return true;
    }
  }
  if (f.dtype != out.dtype || !(f.shape == out.shape) || f.value) return false;
  e.residual = other;
  e.residual_before_act = e.act == Act::None;
  return true;
}

}  // namespace

const Node* only_user(const Graph& graph, ValueId v) {
  if (graph.use_count(v) != 1 || graph.uses(v).size() != 1) return nullptr;
  return &graph.node(graph.uses(v)[0].node);
}

bool has_epilogue_kernel(const Graph& graph, const Node& node) {
  if (const auto* contract = node.op->as<ops::Contract>())
    return node.outputs[0].fact.dtype == DType::F32 && is_gemm(*contract);
  if (node.op->as<ops::BlockMatMul>()) return node.outputs[0].fact.dtype == DType::F32;
  return has_conv_kernel(graph, node, kProductDTypes);
}

Fusions find_fusions(const Graph& graph, const std::vector<NodeId>& order,
                     const TakesEpilogue& takes_epilogue,
                     std::span<const std::string> stays_alone) {
  Fusions fusions;
  fusions.absorbed.assign(graph.node_count(), false);
  fusions.heads.assign(graph.node_count(), false);
  for (NodeId id : order) {
    const Node& producer = graph.node(id);
    if (producer.outputs.size() != 1 || !takes_epilogue(graph, producer)) continue;
    FusedEpilogue e;
    ValueId value{producer.id, 0};
    NodeId tail = producer.id;
    while (const Node* const next = only_user(graph, value)) {
      if (fusions.absorbed[next->id] ||
          next->outputs[0].fact.dtype != producer.outputs[0].fact.dtype ||
          std::ranges::find(stays_alone, next->op->name()) != stays_alone.end())
        break;
      bool taken = false;
      if (const auto* unary = next->op->as<ops::Unary>()) {
        taken = (!e.residual.present() || e.residual_before_act) && absorb_unary(*unary, e);
      } else if (next->op->as<ops::Binary>()) {
        taken = absorb_binary(graph, *next, value, e);
      }
      if (!taken) break;
      e.text += " +" + std::string(ops::function_name(*next->op));
      e.members.push_back(next->id);
      tail = next->id;
      value = {next->id, 0};
    }
    if (e.members.empty()) continue;
    fusions.absorbed[producer.id] = true;
    for (NodeId member : e.members) fusions.absorbed[member] = true;
    e.result = value;
    fusions.tail.emplace(tail, producer.id);
    fusions.of.emplace(producer.id, std::move(e));
  }
  return fusions;
}

void absorb_heads(const Graph& graph, const std::vector<NodeId>& order, Fusions& fusions) {
  // Backwards: what a head feeds comes behind it.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!fusions.heads[*it] || graph.is_output({*it, 0})) continue;
    fusions.absorbed[*it] = std::ranges::all_of(graph.uses({*it, 0}), [&](const Use& use) {
      if (fusions.heads[use.node]) return fusions.absorbed[use.node] == true;
      const auto step = fusions.of.find(use.node);
      return step != fusions.of.end() &&
             std::ranges::any_of(step->second.replaced,
                                 [&](const auto& input) { return input.first == use.input; });
    });
  }
}

}  // namespace treadle::cpu
