// Nodes, functions and subgraphs.
#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "formats/onnx/context.hpp"
#include "formats/onnx/import.hpp"
#include "formats/onnx/types.hpp"

namespace treadle::onnx {
namespace {

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
  return fmt::format("{}:{}:{}", domain, name, overload);
}

// A copy with attribute references replaced by what the call passes; those it leaves out vanish.
NodeProto resolve(const NodeProto& proto, const AttributeMap& arguments) {
  NodeProto resolved = proto;
  resolved.attributes.clear();
  for (const Attribute& a : proto.attributes) {
    if (a.ref_name.empty()) {
      resolved.attributes.push_back(a);
      continue;
    }
    const auto it = arguments.find(a.ref_name);
    if (it == arguments.end() || it->second == nullptr) continue;
    Attribute& copy = resolved.attributes.emplace_back(*it->second);
    copy.name = a.name;
  }
  return resolved;
}

}  // namespace

void Import::note(const Error& e) {
  if (problem_texts_.insert(e.what()).second) problems_.push_back({e.kind(), e.what()});
}

void Import::note_unknown(const Scope& scope, const NodeProto& proto, std::size_t position) {
  if (!noted_.insert(&proto).second) return;
  auto& entry = unknown_[{std::string(proto.domain), std::string(proto.op_type)}];
  if (entry.count++ > 0) return;
  entry.first = describe(proto, position);
  entry.opset = declared_opset(scope, proto.domain);
}

// Unknown operators in the bodies of a node that is not imported itself.
void Import::note_unknown_inside(const Scope& scope, const NodeProto& proto) {
  for (const Attribute& a : proto.attributes) {
    if (a.type != kGraph || !a.ref_name.empty()) continue;
    const GraphProto& g = graphs_.get(a.graph).proto;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      const NodeProto& n = g.nodes[i];
      if (!find_function(n) && !find_operator(n.domain, n.op_type)) note_unknown(scope, n, i);
      note_unknown_inside(scope, n);
    }
  }
}

const FunctionProto* Import::find_function(const NodeProto& proto) const {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(function_key(proto.domain, proto.op_type, proto.overload));
  return it == functions_.end() ? nullptr : it->second;
}

// What the function or the model around the node says.
std::optional<std::int64_t> Import::declared_opset(const Scope& scope,
                                                   std::string_view domain) const {
  for (const auto* imports : {scope.opsets, &std::as_const(model_.opsets)}) {
    if (!imports) continue;
    for (const auto& [name, version] : *imports) {
      if (name == domain) return version;
    }
  }
  return std::nullopt;
}

std::int64_t Import::opset(const Scope& scope, std::string_view domain) const {
  const auto declared = declared_opset(scope, domain);
  check(declared || !domain.empty(), ErrorKind::Parse, "opset_import names no version of ai.onnx");
  return declared.value_or(1);
}

void Import::nodes(Scope& scope, const std::vector<NodeProto>& protos, const NodeIndex& index,
                   const std::vector<bool>& needed) {
  for (const std::uint32_t i : index.order) {
    if (needed.empty() || needed[i]) node(scope, protos[i], i);
  }
}

void Import::node(Scope& scope, const NodeProto& proto, std::size_t position) {
  check(++imported_nodes_ <= options_.limits.max_nodes, ErrorKind::Memory,
        "the model has more than {} nodes, the limit", options_.limits.max_nodes);
  try {
    if (import_node(scope, proto, position)) return;
  } catch (Poisoned&) {
    if (!find_function(proto) && !find_operator(proto.domain, proto.op_type)) {
      note_unknown(scope, proto, position);
    }
    note_unknown_inside(scope, proto);
  } catch (formats::NeedsSizes& e) {
    e.in_origin(scope.prefix + std::string(name_of(proto)), describe(proto, position));
    if (!keep_going_) throw;
  } catch (Error& e) {
    std::string label = describe(proto, position);
    const auto version = declared_opset(scope, proto.domain);
    if (e.kind() == ErrorKind::Unsupported && version)
      label += fmt::format(" of opset {}", *version);
    e.in_origin(scope.prefix + std::string(name_of(proto)), std::move(label));
    if (!keep_going_) throw;
    note(e);
  }
  poison_outputs(scope, proto);
}

void Import::poison_outputs(Scope& scope, const NodeProto& proto) {
  for (const std::string_view out : proto.outputs) {
    if (!out.empty() && !scope.values.contains(out)) scope.define(out, {{}, true});
  }
}

bool Import::import_node(Scope& scope, const NodeProto& proto, std::size_t position) {
  const bool all_bound =
      !cuts_.empty() && !proto.outputs.empty() &&
      std::all_of(proto.outputs.begin(), proto.outputs.end(),
                  [&](std::string_view out) { return out.empty() || scope.values.contains(out); });
  if (all_bound) return true;
  Graph& graph = scope.frame->graph;
  const std::size_t first_new = graph.node_count();
  NodeProto resolved;
  const NodeProto* actual = &proto;
  if (scope.arguments) {
    resolved = resolve(proto, *scope.arguments);
    actual = &resolved;
  }
  if (const FunctionProto* function = find_function(proto)) {
    bind_outputs(scope, proto, call(scope, *actual, *function), first_new);
    return true;
  }
  const OperatorEntry* entry = find_operator(proto.domain, proto.op_type);
  if (!entry) {
    note_unknown(scope, proto, position);
    note_unknown_inside(scope, proto);
    return false;
  }
  ImportContext context(*this, scope, *actual, opset(scope, proto.domain));
  bind_outputs(scope, proto, entry->import(context), first_new);
  return true;
}

void Import::bind_outputs(Scope& scope, const NodeProto& proto, const std::vector<ValueId>& values,
                          std::size_t first_new) {
  Graph& graph = scope.frame->graph;
  std::vector<ValueId> renamed;
  for (std::size_t k = 0; k < proto.outputs.size(); ++k) {
    const std::string_view out = proto.outputs[k];
    if (out.empty()) continue;
    check(k < values.size() && values[k].present(), ErrorKind::Unsupported,
          "output {} '{}' is not supported", k, out);
    const ValueId v = values[k];
    // A cut value that is bound already keeps its source.
    const bool cut = !scope.outer && scope.prefix.empty() && cuts_.contains(out);
    if (cut && scope.values.contains(out)) continue;
    if (cut) {
      Fact fact = graph.fact(v);
      fact.value = nullptr;
      fact.dims = nullptr;
      scope.define(out, {graph.add_source(std::string(out), with_options(fact, graph, out))});
      continue;
    }
    scope.define(out, {v});
    if (v.node < first_new || std::find(renamed.begin(), renamed.end(), v) != renamed.end()) {
      continue;
    }
    graph.rename(v, scope.prefix + std::string(out));
    renamed.push_back(v);
  }
}

std::vector<ValueId> Import::call(Scope& scope, const NodeProto& proto,
                                  const FunctionProto& function) {
  const auto key = function_key(function.domain, function.name, function.overload);
  check(std::find(calls_.begin(), calls_.end(), &function) == calls_.end(), ErrorKind::Parse,
        "function {} calls itself", key);
  check(calls_.size() < static_cast<std::size_t>(options_.limits.max_nesting), ErrorKind::Parse,
        "functions nest deeper than {}", options_.limits.max_nesting);
  check(proto.inputs.size() <= function.inputs.size(), ErrorKind::Parse,
        "function {} has {} inputs, the call passes {}", key, function.inputs.size(),
        proto.inputs.size());
  const auto [index, added] = function_indexes_.try_emplace(&function);
  if (added) index->second = graphs_.index_function(function);

  const std::string name(!proto.name.empty() || proto.outputs.empty() ? proto.name
                                                                      : proto.outputs[0]);
  Scope inner(*scope.frame, nullptr, scope.prefix + name + "/");
  inner.opsets = &function.opsets;
  AttributeMap arguments;
  for (const Attribute& a : function.defaults) arguments[a.name] = &a;
  for (const Attribute& a : proto.attributes) arguments[a.name] = &a;
  inner.arguments = &arguments;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    Binding b;
    if (i < proto.inputs.size() && !proto.inputs[i].empty()) {
      const Binding* given = scope.find(proto.inputs[i]);
      check(given != nullptr, ErrorKind::Parse, "input {} is '{}', which nothing defines", i,
            proto.inputs[i]);
      if (given->poisoned) throw Poisoned{};
      b = *given;
    }
    inner.define(function.inputs[i], b);
  }
  calls_.push_back(&function);
  try {
    nodes(inner, function.nodes, index->second);
  } catch (...) {
    calls_.pop_back();
    throw;
  }
  calls_.pop_back();
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < proto.outputs.size(); ++k) {
    check(k < function.outputs.size(), ErrorKind::Parse, "function {} has {} outputs, the call {}",
          key, function.outputs.size(), proto.outputs.size());
    const Binding* b = inner.find(function.outputs[k]);
    check(b != nullptr || proto.outputs[k].empty(), ErrorKind::Parse,
          "output '{}' of function {} is not defined in it", function.outputs[k], key);
    if (b && b->poisoned) throw Poisoned{};
    results.push_back(b ? b->value : ValueId{});
  }
  return results;
}

void Import::initializers(Scope& scope, const GraphProto& proto,
                          const std::set<std::string_view>& skip) {
  const auto add = [&](const FileTensor& t) {
    scope.define(t.name,
                 {scope.frame->graph.add_constant(scope.prefix + std::string(t.name), t.tensor)});
  };
  const auto guarded = [&](std::string_view name, auto&& read) {
    if (skip.contains(name)) return;
    try {
      add(read());
    } catch (Error& e) {
      if (!keep_going_) throw;
      note(e);
      scope.define(name, {{}, true});
    }
  };
  for (const std::string_view t : proto.initializers) {
    guarded(tensor_name(t), [&] { return tensors_.read(t); });
  }
  for (const std::string_view t : proto.sparse_initializers) {
    guarded(sparse_tensor_name(t), [&] { return tensors_.read_sparse(t); });
  }
}

std::vector<ValueId> Import::body_outputs(Scope& scope, const GraphProto& proto) {
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < proto.outputs.size(); ++k) {
    const std::string_view name = proto.outputs[k].name;
    const Binding* b = scope.find(name);
    check(b != nullptr, ErrorKind::Parse, "body output {} is '{}', which nothing defines", k, name);
    if (b->poisoned) throw Poisoned{};
    check(b->value.present(), ErrorKind::Parse, "body output {} is '{}', which is omitted", k,
          name);
    results.push_back(b->value);
  }
  return results;
}

Body Import::make_body(const Scope& scope, const std::function<void(Scope&)>& fill) {
  Body result;
  result.graph = std::make_shared<Graph>();
  result.graph->limits = options_.limits;
  result.graph->symbol_scope = fmt::format("body{}.", ++bodies_);
  Frame frame{*result.graph, {}, {}};
  Scope inner(frame, &scope, "");
  inner.opsets = scope.opsets;
  inner.arguments = scope.arguments;
  fill(inner);
  result.captured = std::move(frame.captured);
  return result;
}

Body Import::body(const Scope& scope, const NodeProto& proto, const std::string& name,
                  std::string_view encoded, std::span<const Fact> formal) {
  const IndexedGraph& g = graphs_.get(encoded);
  check(g.proto.inputs.size() == formal.size(), ErrorKind::Parse,
        "body '{}' has {} inputs, {} passes {}", name, g.proto.inputs.size(), proto.op_type,
        formal.size());
  return make_body(scope, [&](Scope& inner) {
    Graph& graph = inner.frame->graph;
    std::set<std::string_view> given;
    for (std::size_t i = 0; i < formal.size(); ++i) {
      const std::string_view input = g.proto.inputs[i].name;
      given.insert(input);
      inner.define(input, {graph.add_source(std::string(input), formal[i])});
    }
    initializers(inner, g.proto, given);
    nodes(inner, g.proto.nodes, g.index);
    std::vector<std::string> names;
    for (const ValueInfo& v : g.proto.outputs) names.emplace_back(v.name);
    graph.set_outputs(body_outputs(inner, g.proto), std::move(names));
  });
}

std::vector<ValueId> Import::inline_body(const Scope& scope, const std::string& name,
                                         std::string_view encoded,
                                         std::span<const ValueId> inputs) {
  const IndexedGraph& g = graphs_.get(encoded);
  check(g.proto.inputs.size() == inputs.size(), ErrorKind::Parse, "body '{}' has {} inputs, got {}",
        name, g.proto.inputs.size(), inputs.size());
  Scope inner(*scope.frame, &scope, name);
  inner.opsets = scope.opsets;
  inner.arguments = scope.arguments;
  std::set<std::string_view> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    given.insert(g.proto.inputs[i].name);
    inner.define(g.proto.inputs[i].name, {inputs[i]});
  }
  initializers(inner, g.proto, given);
  nodes(inner, g.proto.nodes, g.index);
  return body_outputs(inner, g.proto);
}

}  // namespace treadle::onnx
