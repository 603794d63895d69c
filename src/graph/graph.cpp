#include "graph/graph.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/basic_ops.hpp"
#include "graph/evaluate.hpp"

namespace treadle {

NodeId Graph::new_node(std::string name, OperatorPtr op, std::vector<ValueId> inputs) {
  check(static_cast<std::int64_t>(nodes_.size()) < limits.max_nodes, ErrorKind::Memory,
        "the model has more than {} nodes, the limit", limits.max_nodes);
  const auto id = static_cast<NodeId>(nodes_.size());
  Node& n = nodes_.emplace_back();
  n.id = id;
  n.name = std::move(name);
  n.op = std::move(op);
  n.inputs = std::move(inputs);
  n.use_positions.resize(n.inputs.size());
  return id;
}

void Graph::link(Node& n, std::uint32_t input) {
  const ValueId v = n.inputs[input];
  if (!v.present()) return;
  auto& uses = nodes_[v.node].uses[v.slot];
  n.use_positions[input] = static_cast<std::uint32_t>(uses.size());
  uses.push_back({n.id, input});
}

void Graph::unlink(Node& n, std::uint32_t input) {
  const ValueId v = n.inputs[input];
  if (!v.present()) return;
  auto& uses = nodes_[v.node].uses[v.slot];
  const std::uint32_t at = n.use_positions[input];
  if (at + 1 != uses.size()) {
    uses[at] = uses.back();
    nodes_[uses[at].node].use_positions[uses[at].input] = at;
  }
  uses.pop_back();
}

std::vector<const Fact*> Graph::input_facts(const Node& n) const {
  std::vector<const Fact*> facts;
  facts.reserve(n.inputs.size());
  for (ValueId v : n.inputs) facts.push_back(v.present() ? &fact(v) : nullptr);
  return facts;
}

ValueId Graph::add_source(std::string name, Fact fact) {
  const ValueId v = add1(name, make_op<Source>(std::move(fact)), {}, name);
  inputs_.push_back(v);
  return v;
}

ValueId Graph::add_constant(std::string name, Tensor value) {
  return add_constant(std::move(name), std::make_shared<const Tensor>(std::move(value)));
}

ValueId Graph::add_constant(std::string name, std::shared_ptr<const Tensor> value) {
  return add1(name, make_op<Constant>(std::move(value)), {}, name);
}

std::vector<ValueId> Graph::add(std::string name, OperatorPtr op, std::vector<ValueId> inputs,
                                std::vector<std::string> output_names) {
  for (ValueId v : inputs) {
    check(!v.present() || (v.node < nodes_.size() && nodes_[v.node].alive &&
                           v.slot < nodes_[v.node].outputs.size()),
          ErrorKind::Internal, "node '{}' refers to a value that is not there", name);
  }
  const NodeId id = new_node(std::move(name), std::move(op), std::move(inputs));
  Node& n = nodes_[id];
  std::vector<Fact> facts;
  try {
    facts = n.op->infer(input_facts(n));
    for (const Fact& f : facts) {
      check(f.rank() <= kMaxRank, ErrorKind::Shape, "output has rank {}, the limit is {}", f.rank(),
            kMaxRank);
      if (f.kind == Fact::Kind::Tensor && is_const(f.shape)) {
        const std::int64_t bytes =
            checked_mul(concrete(f.shape).elements(), static_cast<std::int64_t>(size_of(f.dtype)));
        check(bytes <= limits.max_tensor_bytes, ErrorKind::Memory,
              "output {} needs {} bytes, the limit is {}", f.str(), bytes, limits.max_tensor_bytes);
      }
    }
  } catch (Error& e) {
    e.in_node(n.name, describe(n));
    nodes_.pop_back();
    throw;
  }
  n.outputs.resize(facts.size());
  n.uses.resize(facts.size());
  std::vector<ValueId> values;
  for (std::size_t k = 0; k < facts.size(); ++k) {
    Output& o = n.outputs[k];
    o.fact = std::move(facts[k]);
    if (k < output_names.size() && !output_names[k].empty())
      o.name = std::move(output_names[k]);
    else
      o.name = k == 0 ? n.name : n.name + ":" + std::to_string(k);
    values.push_back({id, static_cast<std::uint32_t>(k)});
  }
  for (std::uint32_t i = 0; i < n.inputs.size(); ++i) link(n, i);
  ++live_;
  fold(n);
  return values;
}

ValueId Graph::add1(std::string name, OperatorPtr op, std::vector<ValueId> inputs,
                    std::string output_name) {
  return add(std::move(name), std::move(op), std::move(inputs), {std::move(output_name)}).front();
}

// Small constants are folded while the graph is built, so that importers see the values of shape
// arithmetic. Large ones are left to the folding pass.
void Graph::fold(Node& n) {
  constexpr std::int64_t kEager = 1024;
  if (!n.op->pure() || n.inputs.empty() || !n.op->subgraphs().empty()) return;
  std::vector<Value> values;
  values.reserve(n.inputs.size());
  for (ValueId v : n.inputs) {
    if (!v.present()) {
      values.emplace_back();
      continue;
    }
    const Fact& f = fact(v);
    if (!f.value || f.value->elements() > kEager) return;
    values.emplace_back(*f.value);
  }
  for (const Output& o : n.outputs) {
    if (o.fact.kind != Fact::Kind::Tensor) return;
    if (is_const(o.fact.shape) && concrete(o.fact.shape).elements() > kEager) return;
  }
  std::vector<const Value*> inputs;
  for (std::size_t i = 0; i < values.size(); ++i)
    inputs.push_back(n.inputs[i].present() ? &values[i] : nullptr);
  std::vector<Value> results;
  try {
    results = evaluate(*n.op, inputs);
  } catch (Error&) {
    // What fails on constants fails when it is run, with its place named; it may never be run.
    return;
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    Fact& f = n.outputs[k].fact;
    const Tensor& t = results[k].tensor();
    if (!t.defined() || t.elements() > kEager) continue;
    f.shape = to_sym(t.shape());
    f.dims = nullptr;
    f.value = std::make_shared<const Tensor>(t);
  }
}

void Graph::set_outputs(std::vector<ValueId> outputs, std::vector<std::string> names) {
  check(outputs.size() == names.size(), ErrorKind::Internal, "{} outputs, {} names", outputs.size(),
        names.size());
  outputs_ = std::move(outputs);
  output_names_ = std::move(names);
}

bool Graph::is_output(ValueId v) const {
  return std::find(outputs_.begin(), outputs_.end(), v) != outputs_.end();
}

std::size_t Graph::use_count(ValueId v) const {
  return uses(v).size() + static_cast<std::size_t>(std::count(outputs_.begin(), outputs_.end(), v));
}

std::vector<NodeId> Graph::order(bool all) const {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> state(nodes_.size(), kNew);
  std::vector<NodeId> result;
  std::vector<std::pair<NodeId, std::uint32_t>> stack;
  auto visit = [&](NodeId root) {
    if (state[root] != kNew) return;
    stack.push_back({root, 0});
    state[root] = kOpen;
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const Node& n = nodes_[id];
      if (next == n.inputs.size()) {
        state[id] = kDone;
        result.push_back(id);
        stack.pop_back();
        continue;
      }
      const ValueId v = n.inputs[next++];
      if (!v.present() || state[v.node] == kDone) continue;
      check(state[v.node] != kOpen, ErrorKind::Parse, "{} is part of a cycle", describe(n));
      state[v.node] = kOpen;
      stack.push_back({v.node, 0});
    }
  };
  for (ValueId v : inputs_) visit(v.node);
  for (ValueId v : outputs_) visit(v.node);
  if (all) {
    for (const Node& n : nodes_) {
      if (n.alive) visit(n.id);
    }
  }
  return result;
}

void Graph::redirect(ValueId from, ValueId to) {
  if (from == to) return;
  auto uses = std::move(nodes_[from.node].uses[from.slot]);
  nodes_[from.node].uses[from.slot].clear();
  for (const Use& u : uses) {
    nodes_[u.node].inputs[u.input] = to;
    link(nodes_[u.node], u.input);
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::remove_if_unused(NodeId id) {
  std::vector<NodeId> pending{id};
  while (!pending.empty()) {
    Node& n = nodes_[pending.back()];
    pending.pop_back();
    if (!n.alive || n.op->as<Source>()) continue;
    bool used = false;
    for (std::uint32_t s = 0; s < n.outputs.size() && !used; ++s) {
      used = !n.uses[s].empty() || is_output({n.id, s});
    }
    if (used) continue;
    for (std::uint32_t i = 0; i < n.inputs.size(); ++i) {
      unlink(n, i);
      if (n.inputs[i].present()) pending.push_back(n.inputs[i].node);
    }
    n.alive = false;
    n.inputs.clear();
    n.use_positions.clear();
    n.op = nullptr;
    for (Output& o : n.outputs) o.fact.value = nullptr;
    --live_;
  }
}

void Graph::prune() {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].alive) remove_if_unused(static_cast<NodeId>(i));
  }
}

Dim Graph::fresh_symbol(std::string_view hint) {
  const std::string base = symbol_scope + std::string(hint);
  int& n = symbols_[base];
  while (true) {
    ++n;
    std::string name = n == 1 ? base : base + "_" + std::to_string(n);
    if (n == 1 || symbols_.find(name) == symbols_.end()) return Dim::symbol(name);
  }
}

Dim Graph::named_symbol(std::string_view name) {
  symbols_.try_emplace(std::string(name), 1);
  return Dim::symbol(name);
}

}  // namespace treadle
