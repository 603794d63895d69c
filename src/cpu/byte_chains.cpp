#include "cpu/byte_chains.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "cpu/elementwise.hpp"
#include "ops/binary.hpp"
#include "ops/function_name.hpp"
#include "ops/quantize.hpp"
#include "ops/unary.hpp"
#include "passes/dequantised.hpp"

namespace treadle::cpu {
namespace {

using passes::Scaling;

struct Bytes {
  ValueId q;
  NodeId node = 0;  // the DequantizeLinear
  Scaling scaling;
};

// The bytes with one scale that a value is made of.
std::optional<Bytes> bytes_of(const Graph& g, ValueId v) {
  auto d = passes::dequantised(g, v);
  if (!d || !d->movers.empty() || !d->scaling.single()) return std::nullopt;
  return Bytes{d->q, v.node, std::move(d->scaling)};
}

kernels::ByteScale byte_scale(const Scaling& s) {
  return {s.scale[0], s.zero[0], s.dtype == DType::I8};
}

template <typename T>
Tensor all_bytes() {
  Tensor t(DTypeOf<T>::value, Shape{256});
  for (int i = 0; i < 256; ++i)
    t.mutable_span<T>()[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<std::uint8_t>(i));
  return t;
}

// Scale and zero point as tensors.
std::vector<Tensor> parameters(const Scaling& s) {
  return {Tensor::scalar(s.scale[0]), s.dtype == DType::I8
                                          ? Tensor::scalar(static_cast<std::int8_t>(s.zero[0]))
                                          : Tensor::scalar(static_cast<std::uint8_t>(s.zero[0]))};
}

// What each byte becomes: computed by the operators themselves.
kernels::ByteTable table_of(const Graph& g, const Scaling& from, const std::vector<NodeId>& unary,
                            const Scaling& to) {
  std::vector<Tensor> in = parameters(from);
  in.insert(in.begin(),
            from.dtype == DType::I8 ? all_bytes<std::int8_t>() : all_bytes<std::uint8_t>());
  Tensor x = passes::evaluate_constant(ops::DequantizeLinear(), in);
  for (const NodeId id : unary) x = passes::evaluate_constant(*g.node(id).op, {x});
  ops::QuantizeLinear quantize;
  quantize.to = to.dtype;
  in = parameters(to);
  in.insert(in.begin(), x);
  const Tensor y = passes::evaluate_constant(quantize, in);
  kernels::ByteTable table;
  const auto* bytes = static_cast<const std::uint8_t*>(y.data());
  std::copy_n(bytes, table.size(), table.begin());
  return table;
}

// A function of two values of one shape, both of bytes, that the row kernels have.
bool combine(const Graph& g, const Node& n, FusedEpilogue& e, std::vector<NodeId>& heads,
             kernels::CombineBytes& out) {
  const auto step = elementwise_step(*n.op, 0, 1);
  const auto* binary = n.op->as<ops::Binary>();
  if (!binary || !step || step->is_unary) return false;
  const auto a = bytes_of(g, n.inputs[0]), b = bytes_of(g, n.inputs[1]);
  const SymShape& shape = n.outputs[0].fact.shape;
  if (!a || !b || !(g.fact(a->q).shape == shape) || !(g.fact(b->q).shape == shape)) return false;
  out.fn = step->fn2;
  out.a = byte_scale(a->scaling);
  out.b = byte_scale(b->scaling);
  heads.insert(heads.end(), {n.id, a->node, b->node});
  e.replaced = {{0, a->q}, {1, b->q}};
  e.text = " of " + std::string(ops::function_name(*n.op));
  return true;
}

// The chain that ends in the QuantizeLinear `n`; the nodes before it go to `heads`.
std::optional<FusedEpilogue> chain_of(const Graph& g, const Node& n, std::vector<NodeId>& heads) {
  const auto to = passes::quantised_to(g, n);
  if (!to || !to->single()) return std::nullopt;
  FusedEpilogue e;
  e.result = {n.id, 0};
  std::vector<NodeId> unary;
  ValueId v = n.inputs[0];
  while (v.slot == 0 && g.node(v.node).op->as<ops::Unary>() && only_user(g, v)) {
    unary.insert(unary.begin(), v.node);
    v = g.node(v.node).inputs[0];
  }
  auto chain = std::make_shared<ByteChain>();
  heads = unary;
  kernels::CombineBytes c;
  if (const auto from = bytes_of(g, v)) {
    heads.push_back(from->node);
    e.replaced = {{0, from->q}};
    e.text = " of bytes";
    for (const NodeId id : unary) e.text += " +" + std::string(ops::function_name(*g.node(id).op));
    if (!unary.empty()) {
      chain->function = table_of(g, from->scaling, unary, *to);
      e.bytes = std::move(chain);
      return e;
    }
    c.a = byte_scale(from->scaling);
  } else if (!only_user(g, v) || unary.size() > 1 || !combine(g, g.node(v.node), e, heads, c)) {
    return std::nullopt;
  }
  c.y = byte_scale(*to);
  c.low = to->dtype == DType::I8 ? -128 : 0;
  c.high = c.low + 255;
  if (!unary.empty()) {
    // Of Relu is quantised what would be, but nothing below 0's byte.
    if (g.node(unary[0]).op->as<ops::Unary>()->fn != ops::UnaryFn::Relu) return std::nullopt;
    c.low = std::max(c.low, c.y.zero);
    e.text += " +relu";
  }
  chain->function = c;
  e.bytes = std::move(chain);
  return e;
}

}  // namespace

void find_byte_chains(const Graph& graph, const std::vector<NodeId>& order, Fusions& fusions) {
  for (const NodeId id : order) {
    if (fusions.absorbed[id] || !graph.node(id).op->as<ops::QuantizeLinear>()) continue;
    std::vector<NodeId> heads;
    auto e = chain_of(graph, graph.node(id), heads);
    if (!e || std::ranges::any_of(heads, [&](NodeId head) { return fusions.absorbed[head]; }))
      continue;
    for (const NodeId head : heads) fusions.heads[head] = true;
    fusions.of.emplace(id, std::move(*e));
  }
}

}  // namespace treadle::cpu
