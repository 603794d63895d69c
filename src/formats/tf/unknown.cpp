#include "formats/tf/unknown.hpp"

#include <set>

#include "formats/tf/importer.hpp"

namespace treadle::tf {

UnknownOperators unknown_operators(const Nodes& nodes, const std::vector<bool>& needed,
                                   const std::map<std::string_view, const FunctionDef*>& functions,
                                   const std::function<bool(const NodeDef&)>& input) {
  UnknownOperators unknown;
  std::set<std::string_view> seen;
  std::vector<const FunctionDef*> pending;
  const auto call = [&](std::string_view name) {
    const auto it = functions.find(name);
    if (it != functions.end() && seen.insert(name).second) pending.push_back(it->second);
  };
  const auto visit = [&](const NodeDef& n) {
    for (const auto& [key, attr] : n.attrs) {
      if (attr.kind == AttrValue::Kind::Function) call(attr.s);
      for (std::string_view name : attr.strings) call(name);
    }
    if (functions.contains(n.op)) return call(n.op);
    if (!find_operator(n.op)) unknown[std::string(n.op)].emplace_back(n.name);
  };
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (needed[i] && !input(nodes[i])) visit(nodes[i]);
  while (!pending.empty()) {
    const FunctionDef& f = *pending.back();
    pending.pop_back();
    for (const NodeDef& n : f.nodes)
      if (!is_action(n)) visit(n);
  }
  return unknown;
}

std::string why_unknown(std::string_view op) {
  static const std::set<std::string_view> kVariables{"VarHandleOp", "ReadVariableOp", "Variable",
                                                     "VariableV2"};
  return kVariables.contains(op)
             ? " (the model's variables are not frozen: their values are not in the graph)"
             : "";
}

}  // namespace treadle::tf
