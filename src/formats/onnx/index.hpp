// The nodes of a graph or function in dependency order, and the names that they need from outside.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/onnx/proto.hpp"

namespace treadle::onnx {

struct NodeIndex {
  std::vector<std::uint32_t> order;  // positions in the file's list
  std::unordered_map<std::string_view, std::uint32_t> producer;
  // Names that nodes and subgraphs read and nothing here defines, each once.
  std::vector<std::string_view> free_names;
};

struct IndexedGraph {
  GraphProto proto;
  NodeIndex index;
};

// Parses and indexes subgraphs, each once.
class GraphCache {
 public:
  explicit GraphCache(int max_nesting) : max_nesting_(max_nesting) {}

  // Throws Parse errors: broken bytes, a name defined twice, a cycle, too deep nesting.
  const IndexedGraph& get(std::string_view encoded, int depth = 0);
  // The index of a function's nodes; `inputs` are the names defined from the start.
  NodeIndex index_function(const FunctionProto& function);

 private:
  NodeIndex index(const std::vector<NodeProto>& nodes, const std::vector<std::string_view>& defined,
                  const std::vector<std::string_view>& outputs, int depth);
  void add_needs(const NodeProto& node, int depth, std::vector<std::string_view>& needs);

  int max_nesting_;
  std::unordered_map<const char*, std::unique_ptr<IndexedGraph>> graphs_;
};

// The node's name, or that of its first output when it has none.
std::string_view name_of(const NodeProto& node);
// "node 'layer3/conv2' (Conv, #117)".
std::string describe(const NodeProto& node, std::size_t position);

}  // namespace treadle::onnx
