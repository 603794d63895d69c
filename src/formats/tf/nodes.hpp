// The nodes of a graph or function with their inputs resolved.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/tf/proto.hpp"

namespace treadle::tf {

// Output `slot` of node `node`.
struct Edge {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t node = kNone;
  std::uint32_t slot = 0;
  bool operator==(const Edge&) const = default;
};

bool is_placeholder(const NodeDef& n);
// Whether nothing can be read from the node: it stands for an action.
bool is_action(const NodeDef& n);

class Nodes {
 public:
  // The nodes of a graph; inputs are "node", "node:1" or "^node". Throws Parse error when two have
  // one name.
  explicit Nodes(std::vector<NodeDef> nodes);
  // Those of a function, its arguments first (operator _Arg). `outputs_of` gives the names of the
  // outputs of a call.
  using OutputNames = std::function<std::vector<std::string_view>(std::string_view function)>;
  Nodes(const FunctionDef& function, const OutputNames& outputs_of);

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  const NodeDef& operator[](std::uint32_t i) const { return nodes_[i]; }
  // Data inputs; one that is not in the graph has node kNone.
  const std::vector<Edge>& inputs(std::uint32_t i) const { return inputs_[i]; }
  const std::vector<std::uint32_t>& controls(std::uint32_t i) const { return controls_[i]; }
  // Input k of node i; throws Parse error when there is none or it is not in the graph.
  Edge input(std::uint32_t i, std::size_t k) const;
  // The value that a name stands for; throws Parse error naming `who`.
  Edge find(std::string_view reference, const std::string& who) const;
  // Of a function.
  const std::vector<Edge>& results() const { return results_; }
  std::uint32_t arguments() const { return arguments_; }
  // Through Identity nodes to where the value comes from.
  Edge origin(Edge e) const;

 private:
  void index();
  void find_origins();
  Edge resolve(std::string_view reference) const;
  Edge resolve_in_function(std::string_view reference, const OutputNames& outputs_of) const;

  std::vector<NodeDef> nodes_;
  std::vector<std::vector<Edge>> inputs_;
  std::vector<std::vector<std::uint32_t>> controls_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::vector<Edge> origins_;  // of what Identity nodes give
  std::vector<Edge> results_;
  std::uint32_t arguments_ = 0;
};

}  // namespace treadle::tf
