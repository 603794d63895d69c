// The model: opsets, inputs, outputs, options.
#include "formats/onnx/import.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "formats/onnx/types.hpp"
#include "ops/unify.hpp"
#include "tensor/utf8.hpp"

namespace treadle::onnx {
namespace {

constexpr std::int64_t kNewestOfOtherDomains = 1000;

// Labels that exporters write where they know nothing; they do not mean "the same size".
bool says_nothing(std::string_view label) {
  return label.empty() || label == "?" || label == "*" || label == "None" || label == "-1";
}

// The tensor that such maps would be made of takes their place.
bool is_made_by_zip_map(const TypeProto& type) {
  return type.kind == TypeProto::Kind::Sequence && type.element &&
         type.element->kind == TypeProto::Kind::Map;
}

// Whether kind and element types are those declared. An element type that is left out fits all.
bool is_of_type(const Fact& fact, const TypeProto& type) {
  switch (type.kind) {
    case TypeProto::Kind::Tensor:
      return fact.kind == Fact::Kind::Tensor &&
             (type.elem_type == 0 || dtype_of_onnx(type.elem_type) == fact.dtype);
    case TypeProto::Kind::Sequence:
    case TypeProto::Kind::Optional: {
      const bool sequence = type.kind == TypeProto::Kind::Sequence;
      return fact.kind == (sequence ? Fact::Kind::Sequence : Fact::Kind::Optional) &&
             (type.element == nullptr || is_of_type(*fact.element, *type.element));
    }
    default:
      return false;
  }
}

std::string type_text(const TypeProto& type) {
  const auto inner = [&] { return type.element ? type_text(*type.element) : std::string("?"); };
  switch (type.kind) {
    case TypeProto::Kind::None:
      return "without a type";
    case TypeProto::Kind::Tensor:
      return std::string(onnx_type_name(type.elem_type));
    case TypeProto::Kind::Sequence:
      return fmt::format("seq({})", inner());
    case TypeProto::Kind::Optional:
      return fmt::format("optional({})", inner());
    case TypeProto::Kind::Map:
      return "a map";
    case TypeProto::Kind::SparseTensor:
      return "a sparse tensor";
    case TypeProto::Kind::Opaque:
      break;
  }
  return "opaque";
}

}  // namespace

Import::Import(std::shared_ptr<const MappedFile> file, std::optional<std::string> folder,
               const LoadOptions& options, bool keep_going)
    : file_(std::move(file)),
      options_(options),
      keep_going_(keep_going),
      tensors_(file_, std::move(folder), options.limits),
      graphs_(options.limits.max_nesting) {
  cuts_.insert(options.inputs.begin(), options.inputs.end());
}

void Import::check_opsets(const ModelProto& model) {
  check(!model.opsets.empty(), ErrorKind::Parse, "the model has no opset_import");
  for (const auto& [domain, version] : model.opsets) {
    const std::string_view shown = domain.empty() ? "ai.onnx" : domain;
    check(version >= 1, ErrorKind::Parse, "opset_import gives {} version {}, expected 1 or more",
          shown, version);
    const std::int64_t newest = domain.empty() ? kNewestOpset : kNewestOfOtherDomains;
    check(version <= newest, ErrorKind::Unsupported,
          "opset {} of {} is newer than {}, the newest known", version, shown, newest);
  }
}

Dim Import::dim_of(const DimProto& dim, Graph& graph, std::string_view name, std::size_t axis) {
  if (dim.kind == DimProto::Kind::Value && dim.value >= 0) return dim.value;
  if (dim.kind == DimProto::Kind::Label && !says_nothing(dim.label)) {
    if (const auto it = options_.symbols.find(dim.label); it != options_.symbols.end()) {
      used_symbols_.insert(it->first);
      return it->second;
    }
    return graph.named_symbol(dim.label);
  }
  return graph.fresh_symbol(fmt::format("{}.{}", name, axis));
}

Fact Import::fact_of(const TypeProto& type, Graph& graph, std::string_view name) {
  switch (type.kind) {
    case TypeProto::Kind::Tensor: {
      const DType dtype = dtype_of_onnx(type.elem_type);
      if (!type.has_shape) return Fact::tensor(dtype, ops::unknown_shape());
      check(type.dims.size() <= static_cast<std::size_t>(kMaxRank), ErrorKind::Unsupported,
            "rank is {}, the limit is {}", type.dims.size(), kMaxRank);
      SymShape shape;
      for (std::size_t i = 0; i < type.dims.size(); ++i) {
        shape.push_back(dim_of(type.dims[i], graph, name, i));
      }
      return Fact::tensor(dtype, std::move(shape));
    }
    case TypeProto::Kind::Sequence:
    case TypeProto::Kind::Optional: {
      check(type.element != nullptr, ErrorKind::Parse,
            "a sequence or optional has no element type");
      Fact element = fact_of(*type.element, graph, name);
      return type.kind == TypeProto::Kind::Sequence ? Fact::sequence(std::move(element))
                                                    : Fact::optional(std::move(element));
    }
    case TypeProto::Kind::None:
      fail(ErrorKind::Parse, "no type is declared");
    case TypeProto::Kind::Map:
      fail(ErrorKind::Unsupported, "a map, which is not supported; dense tensors are");
    default:
      break;
  }
  fail(ErrorKind::Unsupported, "sparse tensors and opaque values are not supported");
}

// Shape and sizes as the options give them.
Fact Import::with_options(Fact fact, Graph& graph, std::string_view name) {
  const auto it = options_.input_shapes.find(name);
  if (it != options_.input_shapes.end()) {
    check(fact.kind == Fact::Kind::Tensor, ErrorKind::Type,
          "a shape is given for '{}', which is no tensor", name);
    check(ops::has_unknown_rank(fact) || it->second.size() == fact.shape.size(), ErrorKind::Shape,
          "shape {} is given, but the file declares {}", str(it->second), str(fact.shape));
    fact.shape.clear();
    for (const Dim& d : it->second) {
      std::vector<std::string> names;
      d.collect_symbols(names);
      std::map<std::string, Dim, std::less<>> by;
      for (const std::string& n : names) {
        const auto value = options_.symbols.find(n);
        if (value != options_.symbols.end()) {
          used_symbols_.insert(n);
          by.emplace(n, value->second);
        } else {
          graph.named_symbol(n);
        }
      }
      fact.shape.push_back(d.substitute(by));
    }
  }
  if (ops::has_unknown_rank(fact) && !only_interface_)
    throw formats::NeedsSizes("no shape is declared; give one in the options");
  return fact;
}

void Import::inputs(Scope& scope, const GraphProto& proto) {
  Graph& graph = scope.frame->graph;
  std::set<std::string_view> constant;
  for (const std::string_view t : proto.initializers) constant.insert(tensor_name(t));
  for (const std::string_view t : proto.sparse_initializers) constant.insert(sparse_tensor_name(t));
  std::set<std::string_view> overridden;
  for (const ValueInfo& v : proto.inputs) {
    const bool given = options_.input_shapes.contains(v.name) || cuts_.contains(v.name);
    if (constant.contains(v.name) && !given) continue;
    overridden.insert(v.name);
    try {
      in_context([&] { return fmt::format("input '{}'", v.name); },
                 [&] {
                   check(!v.name.empty(), ErrorKind::Parse, "an input has no name");
                   const Fact fact = with_options(fact_of(v.type, graph, v.name), graph, v.name);
                   scope.define(v.name, {graph.add_source(std::string(v.name), fact)});
                 });
    } catch (Error& e) {
      if (!keep_going_) throw;
      if (dynamic_cast<formats::NeedsSizes*>(&e) == nullptr) note(e);
      scope.define(v.name, {{}, true});
    }
  }
  if (only_interface_) return;
  initializers(scope, proto, overridden);
}

// Inner values that become inputs, where the file declares their type; others are bound when what
// computes them has been imported.
void Import::cut_inputs(Scope& scope, const IndexedGraph& g) {
  if (cuts_.empty()) return;
  Graph& graph = scope.frame->graph;
  for (const std::string_view encoded : g.proto.value_infos) {
    const ValueInfo v = parse_value_info(encoded);
    if (!cuts_.contains(v.name) || scope.values.contains(v.name)) continue;
    if (!g.index.producer.contains(v.name)) continue;
    if (v.type.kind == TypeProto::Kind::None) continue;
    const Fact fact = fact_of(v.type, graph, v.name);
    if (ops::has_unknown_rank(fact) && !options_.input_shapes.contains(v.name)) continue;
    scope.define(v.name,
                 {graph.add_source(std::string(v.name), with_options(fact, graph, v.name))});
  }
  for (const std::string& name : cuts_) {
    check(scope.values.contains(name) || g.index.producer.contains(name), ErrorKind::Parse,
          "no value '{}' to make an input of", name);
  }
}

std::vector<std::string_view> Import::output_names(const GraphProto& proto) const {
  std::vector<std::string_view> names(options_.outputs.begin(), options_.outputs.end());
  if (names.empty()) {
    for (const ValueInfo& v : proto.outputs) names.push_back(v.name);
  }
  names.insert(names.end(), options_.extra_outputs.begin(), options_.extra_outputs.end());
  std::set<std::string_view> seen;
  for (const std::string_view name : names) {
    check(seen.insert(name).second, ErrorKind::Parse, "output '{}' is listed twice", name);
  }
  check(!names.empty(), ErrorKind::Parse, "the graph has no outputs");
  return names;
}

// Which nodes the outputs need; all (an empty list) when the options choose no values.
std::vector<bool> Import::needed_nodes(const Scope& scope, const IndexedGraph& g) const {
  if (options_.outputs.empty() && options_.inputs.empty()) return {};
  std::vector<bool> needed(g.proto.nodes.size());
  std::vector<std::string_view> pending = output_names(g.proto);
  for (const std::string& name : cuts_) pending.push_back(name);
  std::unordered_set<std::string_view> seen;
  while (!pending.empty()) {
    const std::string_view name = pending.back();
    pending.pop_back();
    if (!seen.insert(name).second || scope.values.contains(name)) continue;
    const auto it = g.index.producer.find(name);
    if (it == g.index.producer.end() || needed[it->second]) continue;
    needed[it->second] = true;
    const NodeProto& n = g.proto.nodes[it->second];
    pending.insert(pending.end(), n.inputs.begin(), n.inputs.end());
    for (const Attribute& a : n.attributes) {
      if (a.type != kGraph) continue;
      // Parsed and indexed before.
      const auto& free = const_cast<GraphCache&>(graphs_).get(a.graph).index.free_names;
      pending.insert(pending.end(), free.begin(), free.end());
    }
  }
  return needed;
}

// Throws for another kind or dtype than declared. Another shape is what exporters write now and
// then (skl2onnx of labels and scores): what is computed counts, with a warning. Labels contradict
// nothing.
void Import::check_declared(const Fact& fact, const ValueInfo& declared) const {
  const TypeProto& type = declared.type;
  if (type.kind == TypeProto::Kind::None || is_made_by_zip_map(type)) return;
  check(is_of_type(fact, type), ErrorKind::Type, "output '{}' is declared {}, but computed as {}",
        declared.name, type_text(type), fact.str());
  if (type.kind != TypeProto::Kind::Tensor) return;
  if (!type.has_shape || !options_.input_shapes.empty() || !options_.inputs.empty()) return;
  bool same = type.dims.size() == fact.shape.size();
  for (std::size_t i = 0; same && i < type.dims.size(); ++i) {
    const DimProto& d = type.dims[i];
    const bool known = d.kind == DimProto::Kind::Value && d.value >= 0 && fact.shape[i].is_const();
    same = !known || fact.shape[i].is(d.value);
  }
  if (same || !options_.warn) return;
  std::vector<std::string> sizes;
  for (const DimProto& d : type.dims) {
    sizes.push_back(d.kind == DimProto::Kind::Value ? std::to_string(d.value)
                    : d.label.empty()               ? "?"
                                                    : std::string(d.label));
  }
  options_.warn(printable(fmt::format("output '{}' is declared with shape [{}], but computed as {}",
                                      declared.name, fmt::join(sizes, ", "), fact.str())));
}

void Import::outputs(Scope& scope, const GraphProto& proto) {
  Graph& graph = scope.frame->graph;
  std::vector<ValueId> values;
  std::vector<std::string> names;
  for (const std::string_view name : output_names(proto)) {
    try {
      const Binding* b = scope.find(name);
      check(b != nullptr, ErrorKind::Parse, "output '{}' is not defined by anything", name);
      if (b->poisoned) continue;
      for (const ValueInfo& v : proto.outputs) {
        if (v.name == name) check_declared(graph.fact(b->value), v);
      }
      values.push_back(b->value);
      names.emplace_back(name);
    } catch (Error& e) {
      if (!keep_going_) throw;
      note(e);
    }
  }
  graph.set_outputs(std::move(values), std::move(names));
}

void Import::drop_unused_inputs(Graph& graph) {
  graph.prune();
  std::erase_if(graph.inputs(), [&](ValueId v) {
    return !cuts_.contains(graph.value_name(v)) && graph.use_count(v) == 0;
  });
}

void Import::fail_unknown() const {
  std::string list;
  for (const auto& [key, entry] : unknown_) {
    const std::string version = entry.opset ? fmt::format(" of opset {}", *entry.opset) : "";
    list += fmt::format("{}{}{}{}{} ({} {}, first {})", list.empty() ? "" : "; ", key.first,
                        key.first.empty() ? "" : ".", key.second, version, entry.count,
                        entry.count == 1 ? "node" : "nodes", entry.first);
  }
  fail(ErrorKind::Unsupported, "{} operator{} not supported: {}", unknown_.size(),
       unknown_.size() == 1 ? " is" : "s are", list);
}

void Import::parse() {
  check(file_->size() > 0, ErrorKind::Parse, "the file is empty");
  model_ = parse_model(file_->bytes());
  check(model_.graph.has_value(), ErrorKind::Parse, "the file has no graph; it is no ONNX model");
  check_opsets(model_);
}

formats::Interface Import::interface() {
  only_interface_ = true;
  parse();
  const GraphProto& proto = graphs_.get(*model_.graph).proto;
  Graph graph;
  Frame frame{graph, {}, {}};
  Scope scope(frame, nullptr, "");
  inputs(scope, proto);
  formats::Interface out;
  for (const ValueId v : graph.inputs()) out.inputs.push_back({graph.value_name(v), graph.fact(v)});
  for (const ValueInfo& v : proto.outputs) {
    if (v.type.kind == TypeProto::Kind::None || is_made_by_zip_map(v.type)) {
      out.outputs.push_back({std::string(v.name), Fact::tensor(DType::F32, ops::unknown_shape())});
      continue;
    }
    in_context([&] { return fmt::format("output '{}'", v.name); },
               [&] {
                 out.outputs.push_back({std::string(v.name), fact_of(v.type, graph, v.name)});
               });
  }
  return out;
}

Graph Import::run() {
  parse();
  for (const FunctionProto& f : model_.functions) {
    const auto key = fmt::format("{}:{}:{}", f.domain, f.name, f.overload);
    check(functions_.emplace(key, &f).second, ErrorKind::Parse, "function {} is defined twice",
          key);
  }
  const IndexedGraph& g = graphs_.get(*model_.graph);
  Graph graph;
  graph.limits = options_.limits;
  Frame frame{graph, {}, {}};
  Scope scope(frame, nullptr, "");
  for (const auto& [name, shape] : options_.input_shapes) {
    const bool known =
        cuts_.contains(name) || std::any_of(g.proto.inputs.begin(), g.proto.inputs.end(),
                                            [&](const ValueInfo& v) { return v.name == name; });
    check(known, ErrorKind::Parse, "a shape is given for '{}', but no input has this name", name);
  }
  inputs(scope, g.proto);
  cut_inputs(scope, g);
  nodes(scope, g.proto.nodes, g.index, needed_nodes(scope, g));
  for (const auto& [name, value] : options_.symbols) {
    check(used_symbols_.contains(name), ErrorKind::Parse,
          "a size is given for '{}', but no input has such a dimension", name);
  }
  if (!unknown_.empty()) {
    if (!keep_going_) fail_unknown();
    try {
      fail_unknown();
    } catch (Error& e) {
      note(e);
    }
  }
  outputs(scope, g.proto);
  if (!cuts_.empty()) drop_unused_inputs(graph);
  return graph;
}

}  // namespace treadle::onnx
