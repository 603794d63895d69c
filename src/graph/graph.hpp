// The one graph: nodes in a vector, each with an operator, inputs, and facts of its outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/operator.hpp"

namespace treadle {

using NodeId = std::uint32_t;

// Output `slot` of node `node`. A default-made one means "omitted".
struct ValueId {
  static constexpr NodeId kNone = 0xffffffffu;
  NodeId node = kNone;
  std::uint32_t slot = 0;
  bool present() const { return node != kNone; }
  bool operator==(const ValueId&) const = default;
};

struct ValueIdHash {
  std::size_t operator()(const ValueId& v) const {
    return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(v.node) << 20) ^ v.slot);
  }
};

struct Output {
  Fact fact;
  // Unique among values that the model file names; may be empty.
  std::string name;
};

struct Use {
  NodeId node;
  std::uint32_t input;
};

struct Node {
  NodeId id = 0;
  std::string name;
  OperatorPtr op;
  std::vector<ValueId> inputs;
  std::vector<Output> outputs;
  // Consumers of each output, in no order; kept by the graph.
  std::vector<std::vector<Use>> uses;
  // Where this node stands in the use list of each of its inputs; kept by the graph.
  std::vector<std::uint32_t> use_positions;
  bool alive = true;
};

// Limits that hostile models meet. All are options of loading.
struct Limits {
  std::int64_t max_tensor_bytes = std::int64_t{16} << 30;
  std::int64_t max_nodes = 2'000'000;
  int max_nesting = 64;
  // A folded constant may have at most max(1 MB, 4 × the bytes of its inputs).
  std::int64_t fold_bytes = 1 << 20;
};

class Graph {
 public:
  Graph() = default;

  // A graph input; its fact may hold symbols.
  ValueId add_source(std::string name, Fact fact);
  ValueId add_constant(std::string name, Tensor value);
  ValueId add_constant(std::string name, std::shared_ptr<const Tensor> value);
  // Infers the facts of the outputs; throws what infer throws, with the node as context. Small
  // outputs of pure operators over constants get their value folded into the fact at once.
  // Output k is named names[k] where given; the default name is the node's, with ":k" for k > 0.
  std::vector<ValueId> add(std::string name, OperatorPtr op, std::vector<ValueId> inputs,
                           std::vector<std::string> output_names = {});
  // add() for an operator with one output.
  ValueId add1(std::string name, OperatorPtr op, std::vector<ValueId> inputs,
               std::string output_name = {});

  std::vector<ValueId>& inputs() { return inputs_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  // Names the graph's outputs; the same value may stand twice.
  void set_outputs(std::vector<ValueId> outputs, std::vector<std::string> names);
  const std::vector<std::string>& output_names() const { return output_names_; }

  std::size_t node_count() const { return nodes_.size(); }  // dead ones included
  std::size_t live_nodes() const { return live_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const Fact& fact(ValueId v) const { return nodes_[v.node].outputs[v.slot].fact; }
  const std::string& value_name(ValueId v) const { return nodes_[v.node].outputs[v.slot].name; }
  void rename(ValueId v, std::string name) { nodes_[v.node].outputs[v.slot].name = std::move(name); }
  const std::vector<Use>& uses(ValueId v) const { return nodes_[v.node].uses[v.slot]; }
  bool is_output(ValueId v) const;
  // Uses, plus one for each time it is an output of the graph.
  std::size_t use_count(ValueId v) const;

  // Facts of a node's inputs (null where omitted).
  std::vector<const Fact*> input_facts(const Node& n) const;

  // Live nodes so that each comes after its inputs: depth first from the outputs and, with
  // `all`, from every live node. Throws Parse error on a cycle.
  std::vector<NodeId> order(bool all = false) const;

  // Sends every use of `from` (graph outputs included) to `to`. Facts are not touched.
  void redirect(ValueId from, ValueId to);
  // Removes the node when nothing uses its outputs, then its inputs in turn. Sources stay.
  void remove_if_unused(NodeId id);
  // Removes all that no output needs (sources stay).
  void prune();
  // Replaces the operator of a node, keeping its facts (for operators over the same facts only).
  void replace_op(NodeId id, OperatorPtr op) { nodes_[id].op = std::move(op); }

  // A symbol that is new in this graph: "hint", or "hint_2", …, after symbol_scope.
  Dim fresh_symbol(std::string_view hint);
  // A symbol of the model file, which fresh_symbol must not give out again.
  Dim named_symbol(std::string_view name);

  Limits limits;
  // Put before fresh symbols; unique for each body of a control-flow operator ("loop3.").
  std::string symbol_scope;

 private:
  NodeId new_node(std::string name, OperatorPtr op, std::vector<ValueId> inputs);
  void link(Node& n, std::uint32_t input);
  void unlink(Node& n, std::uint32_t input);
  void fold(Node& n);

  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> output_names_;
  std::unordered_map<std::string, int> symbols_;
  std::size_t live_ = 0;
};

// "node 'layer3/conv2' (Conv, #117)".
std::string describe(const Node& n);
// One line a node: id, operator, name, output facts, parameters.
std::string print(const Graph& g);
// Checks that uses, inputs and facts fit together; throws Internal error naming the node.
void check_consistent(const Graph& g);

}  // namespace treadle
