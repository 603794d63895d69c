#include <fmt/format.h>

#include "graph/basic_ops.hpp"
#include "graph/graph.hpp"

namespace treadle {

std::string describe(const Node& n) {
  return fmt::format("node '{}' ({}, #{})", n.name, n.op ? n.op->name() : "removed", n.id);
}

std::string print(const Graph& g) {
  std::string s;
  for (NodeId id : g.order(true)) {
    const Node& n = g.node(id);
    s += fmt::format("#{:<5} {:<16} {}", id, n.op->name(), n.name);
    if (!n.inputs.empty()) {
      s += " (";
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        const ValueId v = n.inputs[i];
        if (i) s += ", ";
        if (!v.present())
          s += "-";
        else
          s += v.slot ? fmt::format("#{}:{}", v.node, v.slot) : fmt::format("#{}", v.node);
      }
      s += ")";
    }
    s += " →";
    for (const Output& o : n.outputs) s += " " + o.fact.str();
    const std::string params = n.op->params_text();
    if (!params.empty() && !n.op->as<Constant>()) s += "  " + params;
    s += "\n";
  }
  return s;
}

void check_consistent(const Graph& g) {
  std::size_t live = 0;
  for (NodeId id = 0; id < g.node_count(); ++id) {
    const Node& n = g.node(id);
    if (!n.alive) continue;
    ++live;
    for (std::uint32_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (!v.present()) continue;
      const auto& uses = g.uses(v);
      const std::uint32_t at = n.use_positions[i];
      check(g.node(v.node).alive && at < uses.size() && uses[at].node == id && uses[at].input == i,
            ErrorKind::Internal, "{}: input {} and its producer's uses disagree", describe(n), i);
    }
    for (std::uint32_t s = 0; s < n.outputs.size(); ++s) {
      for (const Use& u : g.uses({id, s})) {
        check(g.node(u.node).alive && g.node(u.node).inputs[u.input] == ValueId{id, s},
              ErrorKind::Internal, "{}: a use of output {} is stale", describe(n), s);
      }
    }
  }
  check(live == g.live_nodes(), ErrorKind::Internal, "{} live nodes counted, {} found",
        g.live_nodes(), live);
}

}  // namespace treadle
