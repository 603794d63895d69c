#include "formats/onnx/index.hpp"

#include <unordered_set>

#include "base/error.hpp"

namespace treadle::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

// Depth first in file order, so that a sorted file keeps its order.
std::vector<std::uint32_t> sort_nodes(const std::vector<NodeProto>& nodes,
                                      const std::vector<std::vector<std::uint32_t>>& before) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> state(nodes.size(), kNew);
  std::vector<std::uint32_t> order;
  order.reserve(nodes.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> stack;
  for (std::uint32_t root = 0; root < nodes.size(); ++root) {
    if (state[root] != kNew) continue;
    state[root] = kOpen;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (next == before[at].size()) {
        state[at] = kDone;
        order.push_back(at);
        stack.pop_back();
        continue;
      }
      const std::uint32_t need = before[at][next++];
      check(state[need] != kOpen, ErrorKind::Parse, "{} and {} are part of a cycle",
            describe(nodes[at], at), describe(nodes[need], need));
      if (state[need] == kNew) {
        state[need] = kOpen;
        stack.push_back({need, 0});
      }
    }
  }
  return order;
}

}  // namespace

std::string_view name_of(const NodeProto& node) {
  if (!node.name.empty()) return node.name;
  for (const std::string_view out : node.outputs) {
    if (!out.empty()) return out;
  }
  return {};
}

std::string describe(const NodeProto& node, std::size_t position) {
  return fmt::format("node '{}' ({}{}{}, #{})", name_of(node), node.domain,
                     node.domain.empty() ? "" : ".", node.op_type, position);
}

void GraphCache::add_needs(const NodeProto& node, int depth, std::vector<std::string_view>& needs) {
  for (const std::string_view name : node.inputs) {
    if (!name.empty()) needs.push_back(name);
  }
  for (const Attribute& a : node.attributes) {
    if (a.type != kGraph || !a.ref_name.empty()) continue;
    const auto& inner = get(a.graph, depth + 1).index.free_names;
    needs.insert(needs.end(), inner.begin(), inner.end());
  }
}

NodeIndex GraphCache::index(const std::vector<NodeProto>& nodes,
                            const std::vector<std::string_view>& defined,
                            const std::vector<std::string_view>& outputs, int depth) {
  NodeIndex result;
  const Names known(defined.begin(), defined.end());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view name : nodes[i].outputs) {
      if (name.empty()) continue;
      check(!known.contains(name), ErrorKind::Parse,
            "{} defines '{}', which is an input or an initializer", describe(nodes[i], i), name);
      const auto [it, added] = result.producer.emplace(name, i);
      check(added, ErrorKind::Parse, "value '{}' is defined twice: by {} and by {}", name,
            describe(nodes[it->second], it->second), describe(nodes[i], i));
    }
  }
  std::vector<std::vector<std::uint32_t>> before(nodes.size());
  Names free;
  const auto need_outside = [&](std::string_view name) {
    if (!known.contains(name) && free.insert(name).second) result.free_names.push_back(name);
  };
  std::vector<std::string_view> needs;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    needs.clear();
    in_context([&] { return describe(nodes[i], i); }, [&] { add_needs(nodes[i], depth, needs); });
    for (const std::string_view name : needs) {
      if (const auto it = result.producer.find(name); it != result.producer.end()) {
        before[i].push_back(it->second);
      } else {
        need_outside(name);
      }
    }
  }
  for (const std::string_view name : outputs) {
    if (!name.empty() && !result.producer.contains(name)) need_outside(name);
  }
  result.order = sort_nodes(nodes, before);
  return result;
}

const IndexedGraph& GraphCache::get(std::string_view encoded, int depth) {
  check(depth <= max_nesting_, ErrorKind::Parse, "subgraphs nest deeper than {}", max_nesting_);
  if (const auto it = graphs_.find(encoded.data()); it != graphs_.end()) return *it->second;
  auto parsed = std::make_unique<IndexedGraph>();
  parsed->proto = parse_graph(encoded);
  const GraphProto& g = parsed->proto;
  std::vector<std::string_view> defined, outputs;
  Names inputs, initializers;
  for (const ValueInfo& v : g.inputs) {
    check(inputs.insert(v.name).second, ErrorKind::Parse, "input '{}' is listed twice", v.name);
    defined.push_back(v.name);
  }
  const auto add_initializer = [&](std::string_view name) {
    check(initializers.insert(name).second, ErrorKind::Parse, "initializer '{}' is listed twice",
          name);
    defined.push_back(name);
  };
  for (const std::string_view t : g.initializers) add_initializer(tensor_name(t));
  for (const std::string_view t : g.sparse_initializers) add_initializer(sparse_tensor_name(t));
  for (const ValueInfo& v : g.outputs) outputs.push_back(v.name);
  parsed->index = index(g.nodes, defined, outputs, depth);
  return *graphs_.emplace(encoded.data(), std::move(parsed)).first->second;
}

NodeIndex GraphCache::index_function(const FunctionProto& function) {
  return index(function.nodes, function.inputs, function.outputs, 0);
}

}  // namespace treadle::onnx
