#include "cpu/integer_products.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cpu/contract_plan.hpp"
#include "cpu/conv_desc.hpp"
#include "graph/patch.hpp"
#include "kernels/product_u8/product_u8.hpp"
#include "ops/axis.hpp"
#include "ops/binary.hpp"
#include "ops/cast.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/function_name.hpp"
#include "ops/quantize.hpp"
#include "ops/unary.hpp"

namespace treadle::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool is_byte(DType t) {
  return t == DType::U8 || t == DType::I8;
}

const Tensor* constant(const Graph& g, ValueId v) {
  return v.present() ? g.fact(v).value.get() : nullptr;
}

bool one_element(const Fact& f) {
  return f.kind == Fact::Kind::Tensor &&
         std::ranges::all_of(f.shape, [](const Dim& d) { return d.is(1); });
}

// Whether an i32 value of one element is one of the 8-bit type: padding by it is then a byte too.
bool is_zero_point(const Graph& g, ValueId v, DType type) {
  if (const Tensor* zero = constant(g, v)) {
    const double value = zero->to_f64()[0], least = type == DType::I8 ? -128 : 0;
    return value >= least && value <= least + 255;
  }
  while (v.slot == 0 && g.node(v.node).op->moves_elements() && g.node(v.node).inputs.size() == 1)
    v = g.node(v.node).inputs[0];
  const Node& cast = g.node(v.node);
  return cast.op->as<ops::Cast>() && g.fact(cast.inputs[0]).dtype == type;
}

// What widens 8-bit values: Cast to i32, less a zero point or not.
struct Widening {
  ValueId x;
  std::optional<ValueId> zero;
  std::vector<NodeId> nodes;  // from the product to x
};

std::optional<Widening> widening(const Graph& g, ValueId v) {
  Widening w;
  if (v.slot != 0 || g.fact(v).dtype != DType::I32) return std::nullopt;
  if (const auto* sub = g.node(v.node).op->as<ops::Binary>()) {
    const auto& inputs = g.node(v.node).inputs;
    if (sub->fn != ops::BinaryFn::Sub || !one_element(g.fact(inputs[1]))) return std::nullopt;
    w.zero = inputs[1];
    w.nodes.push_back(v.node);
    v = inputs[0];
  }
  const Node& cast = g.node(v.node);
  if (!cast.op->as<ops::Cast>() || !is_byte(g.fact(cast.inputs[0]).dtype)) return std::nullopt;
  w.nodes.push_back(v.node);
  w.x = cast.inputs[0];
  if (w.zero && !is_zero_point(g, *w.zero, g.fact(w.x).dtype)) return std::nullopt;
  return w;
}

// Which input of the producer is which, when its kernel takes constant weights `w`.
struct Inputs {
  std::size_t x, w;
};

bool fits(const Tensor& w, std::int64_t taps) {
  const auto values = w.span<std::int32_t>();
  const auto [least, most] = std::ranges::minmax(values);
  return least >= kernels::kLeastU8Weight && most <= kernels::kMostU8Weight &&
         kernels::parts_u8(least, most) * taps <= kernels::kMostU8Taps;
}

std::optional<Inputs> conv_inputs(const Graph& g, const Node& n, const ops::Conv& op) {
  static constexpr DType kTypes[] = {DType::I32};
  if (!has_conv_kernel(g, n, kTypes)) return std::nullopt;
  const Tensor& w = *constant(g, n.inputs[1]);
  if (w.elements() == 0) return std::nullopt;
  const ops::WeightAxes axes = ops::weight_axes(op.weight_layout, w.shape().rank());
  std::int64_t taps = 1;
  for (int i = 0; i + 2 < w.shape().rank(); ++i)
    taps *= w.shape()[static_cast<std::size_t>(axes.spatial + i)];
  if (!fits(w, taps)) return std::nullopt;
  return Inputs{0, 1};
}

// A matrix of weights, and a left factor whose summed axis is the last.
std::optional<Inputs> contract_inputs(const Graph& g, const Node& n, const ops::Contract& op) {
  if (!is_gemm(op)) return std::nullopt;
  const bool swapped = op.inputs[0].find(op.output.back()) != std::string::npos;
  const Inputs in{swapped ? std::size_t{1} : 0, swapped ? std::size_t{0} : 1};
  const std::string &x = op.inputs[in.x], &w = op.inputs[in.w];
  const Tensor* weights = constant(g, n.inputs[in.w]);
  if (weights == nullptr || weights->elements() == 0 || w.size() != 2 || x.empty())
    return std::nullopt;
  const char summed = w[0] == op.output.back() ? w[1] : w[0];
  if (x.back() != summed || op.output.find(summed) != std::string::npos) return std::nullopt;
  // Neither axis broadcasts.
  const Fact& xf = g.fact(n.inputs[in.x]);
  if (!xf.shape.back().is(weights->shape()[w.find(summed)])) return std::nullopt;
  if (!fits(*weights, 1)) return std::nullopt;
  return in;
}

std::optional<Inputs> inputs_of(const Graph& g, const Node& n) {
  if (n.outputs.size() != 1 || n.outputs[0].fact.dtype != DType::I32) return std::nullopt;
  if (const auto* conv = n.op->as<ops::Conv>()) return conv_inputs(g, n, *conv);
  if (const auto* contract = n.op->as<ops::Contract>()) return contract_inputs(g, n, *contract);
  return std::nullopt;
}

// A constant with one value, or one for each element of the last axis, as so many values.
template <typename T>
std::vector<T> over_columns(const Tensor* t, const Fact& out) {
  const Dim& columns = out.shape.back();
  if (t == nullptr || t->dtype() != DTypeOf<T>::value || !columns.is_const()) return {};
  const auto values = t->span<T>();
  if (t->elements() == 1)
    return std::vector<T>(static_cast<std::size_t>(columns.value()), values[0]);
  if (t->elements() != columns.value() || t->shape().back() != t->elements()) return {};
  return {values.begin(), values.end()};
}

// Takes the nodes behind a product into it, one after the other.
class Tail {
 public:
  Tail(const Graph& g, IntegerProduct& p) : g_(g), p_(p) {}

  bool take(const Node& n, ValueId through) {
    const Fact& out = n.outputs[0].fact;
    if (n.outputs.size() != 1 || !(out.shape == g_.fact(through).shape)) return false;
    if (const auto* binary = n.op->as<ops::Binary>()) return take_binary(n, *binary, through);
    if (const auto* cast = n.op->as<ops::Cast>())
      return p_.out == DType::I32 && cast->to == DType::F32 && take_cast(out);
    if (const auto* unary = n.op->as<ops::Unary>()) return take_unary(*unary);
    if (const auto* quantize = n.op->as<ops::QuantizeLinear>()) return take_quantize(n, *quantize);
    return false;
  }

 private:
  bool take_binary(const Node& n, const ops::Binary& op, ValueId through) {
    const std::size_t side = n.inputs[0] == through ? 0 : 1;
    const Tensor* other = constant(g_, n.inputs[1 - side]);
    if (op.fn == ops::BinaryFn::Add && p_.out == DType::I32) {
      const auto more = over_columns<std::int32_t>(other, n.outputs[0].fact);
      if (more.empty()) return false;
      p_.bias.resize(more.size(), 0);
      for (std::size_t i = 0; i < more.size(); ++i) {
        p_.bias[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(p_.bias[i]) +
                                               static_cast<std::uint32_t>(more[i]));
      }
      return true;
    }
    if (op.fn != ops::BinaryFn::Mul || p_.out != DType::F32 || scaled_) return false;
    auto factor = over_columns<float>(other, n.outputs[0].fact);
    if (factor.empty() || !std::ranges::all_of(factor, [](float f) { return std::isfinite(f); }))
      return false;
    p_.factor = std::move(factor);
    scaled_ = true;
    return true;
  }

  bool take_cast(const Fact& out) {
    if (!out.shape.back().is_const()) return false;
    p_.factor.assign(static_cast<std::size_t>(out.shape.back().value()), 1.0f);
    p_.out = DType::F32;
    p_.low = -kInfinity;
    p_.high = kInfinity;
    return true;
  }

  bool take_unary(const ops::Unary& op) {
    if (p_.out != DType::F32) return false;
    if (op.fn == ops::UnaryFn::Relu) return clamp(0, kInfinity);
    return op.fn == ops::UnaryFn::Clip && clamp(static_cast<float>(op.a), static_cast<float>(op.b));
  }

  bool clamp(float low, float high) {
    if (!(low <= high)) return false;
    p_.low = std::clamp(p_.low, low, high);
    p_.high = std::clamp(p_.high, low, high);
    scaled_ = true;
    return true;
  }

  bool take_quantize(const Node& n, const ops::QuantizeLinear& op) {
    const Tensor* scale = constant(g_, n.inputs[1]);
    if (p_.out != DType::F32 || !is_byte(op.to) || op.block_size != 0 ||
        op.precision != DType::F32 || scale == nullptr || scale->dtype() != DType::F32 ||
        scale->elements() != 1 || scale->span<float>()[0] != 1.0f) {
      return false;
    }
    if (n.inputs.size() > 2 && n.inputs[2].present()) {
      const Tensor* zero = constant(g_, n.inputs[2]);
      if (zero == nullptr || zero->elements() != 1) return false;
      p_.zero = static_cast<std::int32_t>(zero->to_f64()[0]);
    }
    p_.out = op.to;
    const std::int32_t least = op.to == DType::I8 ? -128 : 0;
    return clamp(static_cast<float>(least - p_.zero), static_cast<float>(least + 255 - p_.zero));
  }

  const Graph& g_;
  IntegerProduct& p_;
  bool scaled_ = false;
};

// The product at `producer` with what it absorbs, and what widens its input.
std::optional<Widening> absorb(const Graph& g, const Node& producer, FusedEpilogue& e) {
  const auto in = inputs_of(g, producer);
  if (!in) return std::nullopt;
  auto head = widening(g, producer.inputs[in->x]);
  if (!head) return std::nullopt;
  auto p = std::make_shared<IntegerProduct>();
  p->w_input = in->w;
  p->x = head->x;
  e.replaced = {{in->x, head->x}};
  if (head->zero) {
    if (const Tensor* zero = constant(g, *head->zero))
      p->x_zero = static_cast<std::int32_t>(zero->to_f64()[0]);
    else
      p->x_zero_value = *head->zero;
  }
  if (producer.inputs.size() > 2 && producer.inputs[2].present())
    p->bias = over_columns<std::int32_t>(constant(g, producer.inputs[2]), producer.outputs[0].fact);
  ValueId value{producer.id, 0};
  Tail tail(g, *p);
  while (const Node* const next = only_user(g, value)) {
    if (!tail.take(*next, value)) break;
    const std::string_view function = ops::function_name(*next->op);
    e.text += " +" + std::string(function.empty() ? next->op->name() : function);
    e.members.push_back(next->id);
    value = {next->id, 0};
  }
  e.result = value;
  e.integer = std::move(p);
  return head;
}

}  // namespace

void widen_last(Graph& graph) {
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    const auto in = inputs_of(graph, n);
    if (!in) continue;
    std::vector<NodeId> movers;
    ValueId v = n.inputs[in->x];
    while (v.slot == 0 && graph.node(v.node).op->moves_elements() &&
           graph.node(v.node).inputs.size() == 1) {
      movers.push_back(v.node);
      v = graph.node(v.node).inputs[0];
    }
    const auto head = widening(graph, v);
    if (movers.empty() || !head) continue;
    Patch patch(graph);
    ValueId x = head->x;
    for (auto it = movers.rbegin(); it != movers.rend(); ++it) {
      const Node& mover = graph.node(*it);
      x = patch.add1(mover.name + ".narrow", mover.op, {x});
    }
    ValueId wide = patch.add1(n.name + ".wide", graph.node(head->nodes.back()).op, {x});
    if (head->zero) {
      ValueId zero = *head->zero;
      if (graph.fact(zero).rank() != patch.fact(wide).rank()) {
        const SymShape ones(static_cast<std::size_t>(patch.fact(wide).rank()), Dim(1));
        const Tensor* known = constant(graph, zero);
        zero = known ? patch.constant(n.name + ".zero", known->reshaped(concrete(ones)))
                     : patch.add1(n.name + ".zero", make_op<ops::Reshape>(ones), {zero});
      }
      wide = patch.add1(n.name + ".centred", graph.node(head->nodes.front()).op, {wide, zero});
    }
    patch.replace(n.inputs[in->x], wide);
    apply(graph, std::move(patch));
  }
}

void find_integer_products(const Graph& graph, const std::vector<NodeId>& order, Fusions& fusions) {
  for (const NodeId id : order) {
    const Node& producer = graph.node(id);
    if (fusions.absorbed[id]) continue;
    FusedEpilogue e;
    const auto head = absorb(graph, producer, e);
    if (!head) continue;
    for (const NodeId member : e.members) fusions.absorbed[member] = true;
    fusions.absorbed[id] = !e.members.empty();
    if (!e.members.empty()) fusions.tail.emplace(e.members.back(), id);
    for (const NodeId node : head->nodes) fusions.heads[node] = true;
    fusions.of.emplace(id, std::move(e));
  }
}

}  // namespace treadle::cpu
