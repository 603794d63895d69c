#include <algorithm>

#include "base/error.hpp"
#include "formats/tf/scope.hpp"
#include "formats/tf/unknown.hpp"
#include "ops/unify.hpp"

namespace treadle::tf {
namespace {

// Outputs that are not of the type T of their node, unless its attributes name another.
struct Indices {
  std::string_view op;
  std::uint32_t output;
  DType type;
};
constexpr Indices kIndices[] = {{"ArgMax", 0, DType::I64},
                                {"ArgMin", 0, DType::I64},
                                {"NonMaxSuppression", 0, DType::I32},
                                {"NonMaxSuppressionV2", 0, DType::I32},
                                {"NonMaxSuppressionV3", 0, DType::I32},
                                {"NonMaxSuppressionV4", 0, DType::I32},
                                {"NonMaxSuppressionV4", 1, DType::I32},
                                {"NonMaxSuppressionV5", 0, DType::I32},
                                {"NonMaxSuppressionV5", 2, DType::I32},
                                {"Rank", 0, DType::I32},
                                {"Shape", 0, DType::I32},
                                {"Size", 0, DType::I32},
                                {"TensorArraySizeV3", 0, DType::I32},
                                {"TensorListLength", 0, DType::I32},
                                {"TopK", 1, DType::I32},
                                {"TopKV2", 1, DType::I32},
                                {"Unique", 1, DType::I32},
                                {"UniqueWithCounts", 1, DType::I32},
                                {"UniqueWithCounts", 2, DType::I32},
                                {"Where", 0, DType::I64}};

// What a node says of the type of one of its outputs; f32 where it says nothing.
DType output_type(const NodeDef& n, std::uint32_t output) {
  static const std::set<std::string_view> kTests{
      "Equal", "NotEqual", "Less",       "LessEqual", "Greater",    "GreaterEqual", "IsNan",
      "IsInf", "IsFinite", "LogicalAnd", "LogicalOr", "LogicalNot", "All",          "Any"};
  if (kTests.contains(n.op)) return DType::Bool;
  const auto attribute = [&](std::initializer_list<const char*> keys) -> std::optional<DType> {
    for (const char* key : keys) {
      const auto it = n.attrs.find(key);
      if (it != n.attrs.end() && it->second.kind == AttrValue::Kind::Type)
        return dtype_of_tf(it->second.i);
    }
    return std::nullopt;
  };
  for (const Indices& i : kIndices) {
    if (i.op == n.op && i.output == output)
      return attribute({"output_type", "out_type", "out_idx", "index_type"}).value_or(i.type);
  }
  return attribute({"DstT", "output_type", "out_type", "dtype", "T"}).value_or(DType::F32);
}

}  // namespace

Import::Import(std::shared_ptr<const MappedFile> file, std::string_view bytes,
               const LoadOptions& options)
    : file_(std::move(file)), options_(options), def_(parse_graph(bytes)) {
  check(!def_.nodes.empty(), ErrorKind::Parse, "the graph has no nodes");
  check(static_cast<std::int64_t>(def_.nodes.size()) <= options.limits.max_nodes, ErrorKind::Memory,
        "the model has {} nodes, the limit is {}", def_.nodes.size(), options.limits.max_nodes);
  for (const FunctionDef& f : def_.functions)
    check(functions_.emplace(f.name, &f).second, ErrorKind::Parse, "two functions are named '{}'",
          f.name);
  cut_.insert(options.inputs.begin(), options.inputs.end());
  Nodes nodes(std::move(def_.nodes));
  std::vector<bool> stop(nodes.size(), false);
  for (std::uint32_t i = 0; i < nodes.size(); ++i) stop[i] = is_input(nodes[i]);
  for (const auto& name : cut_) nodes.find(name, "input '" + name + "'");
  main_ = std::make_unique<Unit>(std::move(nodes), stop, options.limits.max_nesting);
  outputs_ = output_names();
  mark_needed(outputs_);
  for (std::uint32_t i = 0; i < main_->nodes.size(); ++i) {
    const NodeDef& n = main_->nodes[i];
    // A shape that the options replace is not read, nor is it an error.
    if (!needed_[i] || !is_input(n) || options_.input_shapes.contains(std::string(n.name)))
      continue;
    const auto dims = declared_shape(n);
    inputs_of_a_batch_ += dims && !dims->empty() && dims->front() < 0;
  }
}

// Sizes, −1 where unknown; nullopt without a shape in the file.
std::optional<std::vector<std::int64_t>> Import::declared_shape(const NodeDef& n) const {
  const auto it = n.attrs.find("shape");
  const bool declared =
      is_placeholder(n) && it != n.attrs.end() && it->second.kind == AttrValue::Kind::Shape;
  if (!declared) return std::nullopt;
  return in_context([&] { return fmt::format("node '{}' ({})", n.name, n.op); },
                    [&] { return parse_shape(it->second.s); });
}

// Throws one error that lists every unknown operator.
Graph Import::run() {
  std::string text;
  for (const auto& [op, nodes] :
       unknown_operators(main_->nodes, needed_, functions_, [&](auto& n) { return is_input(n); })) {
    text += fmt::format("{}{} ({}×, first at '{}'){}", text.empty() ? "" : ", ", op, nodes.size(),
                        nodes.front(), why_unknown(op));
  }
  check(text.empty(), ErrorKind::Unsupported, "unsupported operators: {}", text);
  return import();
}

// Unsupported operators first, then what else cannot be imported and does not follow from it.
std::vector<Problem> Import::problems() {
  std::vector<Problem> out;
  for (const auto& [op, nodes] :
       unknown_operators(main_->nodes, needed_, functions_, [&](auto& n) { return is_input(n); })) {
    out.push_back(
        {ErrorKind::Unsupported,
         fmt::format("operator {} is not supported: {} node{}, the first is '{}'{}", op,
                     nodes.size(), nodes.size() == 1 ? "" : "s", nodes.front(), why_unknown(op))});
  }
  problems_ = &out;
  try {
    import();
  } catch (const Error& e) {
    note(e);
  }
  problems_ = nullptr;
  return out;
}

bool Import::note(const Error& e) {
  if (!problems_) return false;
  // Unknown operators are listed already; sizes that the run gives are no problem.
  if (!dynamic_cast<const UnknownOperator*>(&e) && !dynamic_cast<const formats::NeedsSizes*>(&e))
    problems_->push_back({e.kind(), e.what()});
  return true;
}

Graph Import::import() {
  Graph graph;
  graph.limits = options_.limits;
  Builder builder(graph, nullptr);
  Scope scope(*this, *main_, builder);
  std::vector<ValueId> values;
  std::vector<std::string> names;
  for (const auto& name : outputs_) {
    const Edge e = main_->nodes.find(name, "output '" + name + "'");
    if (!scope.try_import(e)) continue;
    values.push_back(scope.get(e));
    names.push_back(name);
  }
  graph.set_outputs(std::move(values), std::move(names));
  // Inputs stand in the order of the file, whatever the outputs visit first.
  const auto order = [&](ValueId v) { return main_->nodes.find(graph.value_name(v), "").node; };
  std::sort(graph.inputs().begin(), graph.inputs().end(),
            [&](ValueId a, ValueId b) { return order(a) < order(b); });
  return graph;
}

std::vector<std::string> Import::output_names() const {
  const Nodes& nodes = main_->nodes;
  auto names = options_.outputs;
  if (names.empty()) {
    std::vector<bool> read(nodes.size(), false);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t k = 0; k < nodes.inputs(i).size(); ++k) read[nodes.input(i, k).node] = true;
      for (std::uint32_t c : nodes.controls(i)) read[c] = true;
    }
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (!read[i] && nodes[i].op != "Const" && !is_action(nodes[i]) && !is_placeholder(nodes[i]))
        names.emplace_back(nodes[i].name);
    }
    check(!names.empty(), ErrorKind::Parse, "no node of the graph is an output");
  }
  names.insert(names.end(), options_.extra_outputs.begin(), options_.extra_outputs.end());
  return names;
}

// The nodes that the outputs need, those that become inputs included.
void Import::mark_needed(const std::vector<std::string>& outputs) {
  const Nodes& nodes = main_->nodes;
  needed_.assign(nodes.size(), false);
  std::vector<std::uint32_t> stack;
  for (const auto& name : outputs) stack.push_back(nodes.find(name, "output '" + name + "'").node);
  while (!stack.empty()) {
    const std::uint32_t i = stack.back();
    stack.pop_back();
    if (needed_[i]) continue;
    needed_[i] = true;
    if (is_input(nodes[i])) continue;
    for (std::size_t k = 0; k < nodes.inputs(i).size(); ++k)
      stack.push_back(nodes.input(i, k).node);
  }
}

void Import::count_nodes(std::size_t n) {
  imported_ += static_cast<std::int64_t>(n);
  check(imported_ <= options_.limits.max_nodes, ErrorKind::Memory,
        "loops and functions expand to more than {} nodes, the limit", options_.limits.max_nodes);
}

ValueId Import::add_input(Graph& graph, const NodeDef& n) const {
  Fact fact = input_fact(graph, n);
  if (ops::has_unknown_rank(fact))
    throw formats::NeedsSizes(fmt::format(
        "the shape of input '{0}' is not in the file: give it with --shape {0}=…", n.name));
  return graph.add_source(std::string(n.name), std::move(fact));
}

// As the options and the file declare it, which may leave out the shape.
Fact Import::input_fact(Graph& graph, const NodeDef& n) const {
  const std::string name(n.name);
  DType dtype = DType::F32;
  for (const char* key : {"dtype", "T"}) {
    const auto it = n.attrs.find(key);
    if (it != n.attrs.end() && it->second.kind == AttrValue::Kind::Type)
      dtype = dtype_of_tf(it->second.i);
  }
  if (const auto given = options_.input_shapes.find(name); given != options_.input_shapes.end()) {
    return Fact::tensor(dtype, given->second);
  }
  const auto dims = declared_shape(n);
  if (!dims) return Fact::tensor(dtype, ops::unknown_shape());
  SymShape shape;
  for (std::size_t a = 0; a < dims->size(); ++a) {
    if ((*dims)[a] >= 0) {
      shape.emplace_back((*dims)[a]);
      continue;
    }
    // Nothing says that the first sizes of two inputs agree.
    const std::string symbol =
        a == 0 && inputs_of_a_batch_ == 1 ? "batch" : name + "_" + std::to_string(a);
    const auto known = options_.symbols.find(symbol);
    shape.push_back(known != options_.symbols.end() ? Dim(known->second)
                                                    : graph.named_symbol(symbol));
  }
  return Fact::tensor(dtype, std::move(shape));
}

formats::Interface Import::interface() const {
  formats::Interface out;
  Graph graph;
  const Nodes& nodes = main_->nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (needed_[i] && is_input(nodes[i]))
      out.inputs.push_back({std::string(nodes[i].name), input_fact(graph, nodes[i])});
  for (const std::string& name : outputs_) {
    const Edge e = nodes.find(name, "output '" + name + "'");
    out.outputs.push_back(
        {name, Fact::tensor(output_type(nodes[e.node], e.slot), ops::unknown_shape())});
  }
  return out;
}

const Unit& Import::function(std::string_view name) {
  auto& unit = units_[name];
  if (unit) return *unit;
  const auto it = functions_.find(name);
  check(it != functions_.end(), ErrorKind::Parse, "function '{}' is not in the graph's library",
        name);
  const auto outputs_of = [&](std::string_view f) {
    std::vector<std::string_view> names;
    if (const auto called = functions_.find(f); called != functions_.end())
      for (const auto& out : called->second->outputs) names.push_back(out.name);
    return names;
  };
  Nodes nodes(*it->second, outputs_of);
  const std::vector<bool> stop(nodes.size(), false);
  unit = std::make_unique<Unit>(std::move(nodes), stop, options_.limits.max_nesting);
  return *unit;
}

std::vector<ValueId> Import::call(std::string_view name, Builder& builder,
                                  std::span<const ValueId> arguments) {
  check(calls_ < options_.limits.max_nesting, ErrorKind::Memory,
        "functions call each other deeper than {}", options_.limits.max_nesting);
  struct Open {
    explicit Open(int& n) : count(n) { ++count; }
    ~Open() { --count; }
    int& count;
  } open(calls_);
  return in_context([&] { return fmt::format("function '{}'", name); },
                    [&] {
                      const Unit& unit = function(name);
                      check(unit.nodes.arguments() == arguments.size(), ErrorKind::Parse,
                            "it takes {} arguments, got {}", unit.nodes.arguments(),
                            arguments.size());
                      Scope scope(*this, unit, builder);
                      for (std::uint32_t i = 0; i < arguments.size(); ++i)
                        scope.bind(i, {arguments[i]});
                      std::vector<ValueId> out;
                      for (const Edge& e : unit.nodes.results()) out.push_back(scope.get(e));
                      return out;
                    });
}

formats::Body Import::body(Builder& outer, std::span<const Fact> formal, const Step& step) {
  int depth = 1;
  for (const Builder* b = &outer; b->outer; b = b->outer) ++depth;
  check(depth <= options_.limits.max_nesting, ErrorKind::Memory,
        "loops and conditions are nested deeper than {}", options_.limits.max_nesting);
  formats::Body out{std::make_shared<Graph>(), {}};
  out.graph->limits = options_.limits;
  out.graph->symbol_scope = fmt::format("body{}.", ++bodies_);
  Builder builder(*out.graph, &outer);
  std::vector<ValueId> given;
  for (std::size_t i = 0; i < formal.size(); ++i)
    given.push_back(out.graph->add_source(fmt::format("in{}", i), formal[i]));
  auto results = step(builder, given);
  // A graph takes the memory of some twenty nodes.
  count_nodes(20 + builder.captured_as.size());
  std::vector<std::string> names(results.size());
  out.graph->set_outputs(std::move(results), std::move(names));
  out.captured = std::move(builder.captured);
  return out;
}

}  // namespace treadle::tf
