#include "formats/tf/load.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "formats/tf/importer.hpp"

namespace treadle::tf {
namespace {

// "node:1" → node, 1. "^node" is a control input.
struct Reference {
  std::string_view node;
  std::uint32_t slot = 0;
  bool control = false;
};

Reference parse_reference(std::string_view text) {
  Reference r;
  if (!text.empty() && text[0] == '^') {
    r.control = true;
    text.remove_prefix(1);
  }
  r.node = text;
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    std::uint32_t slot = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, slot);
    if (error == std::errc() && stop == end) {
      r.node = text.substr(0, colon);
      r.slot = slot;
    }
  }
  return r;
}

bool is_placeholder(const NodeDef& n) {
  return n.op == "Placeholder" || n.op == "PlaceholderV2";
}

class Importer {
 public:
  Importer(std::shared_ptr<const MappedFile> file, const LoadOptions& options)
      : file_(std::move(file)), options_(options), def_(parse_graph(file_->bytes())) {
    check(!def_.nodes.empty(), ErrorKind::Parse, "the graph has no nodes");
    graph_.limits = options.limits;
    check(static_cast<std::int64_t>(def_.nodes.size()) <= options.limits.max_nodes,
          ErrorKind::Memory, "the model has {} nodes, the limit is {}", def_.nodes.size(),
          options.limits.max_nodes);
    for (std::size_t i = 0; i < def_.nodes.size(); ++i) {
      check(index_.emplace(def_.nodes[i].name, i).second, ErrorKind::Parse,
            "two nodes are named '{}'", def_.nodes[i].name);
    }
    cut_.insert(options.inputs.begin(), options.inputs.end());
    for (const auto& name : cut_) find(parse_reference(name), "input '" + name + "'");
    values_.resize(def_.nodes.size());
    state_.assign(def_.nodes.size(), State::New);
  }

  Graph load() {
    const auto outputs = output_names();
    check_operators(outputs);
    std::vector<ValueId> values;
    for (const auto& name : outputs)
      values.push_back(value(parse_reference(name), "output '" + name + "'"));
    // Inputs stand in the order of the file, whatever the outputs visit first.
    graph_.set_outputs(std::move(values), outputs);
    std::sort(graph_.inputs().begin(), graph_.inputs().end(),
              [&](ValueId a, ValueId b) { return input_order(a) < input_order(b); });
    return std::move(graph_);
  }

  // Unsupported operators first, else the first import error.
  std::vector<Problem> problems() {
    std::vector<Problem> out;
    for (const auto& [op, nodes] : unknown_operators(output_names())) {
      out.push_back({ErrorKind::Unsupported,
                     fmt::format("operator {} is not supported: {} node{}, the first is '{}'", op,
                                 nodes.size(), nodes.size() == 1 ? "" : "s", nodes.front())});
    }
    if (!out.empty()) return out;
    try {
      load();
    } catch (const Error& e) {
      out.push_back({e.kind(), e.what()});
    }
    return out;
  }

 private:
  enum class State : std::uint8_t { New, Open, Done };

  std::size_t find(const Reference& r, const std::string& who) const {
    const auto it = index_.find(r.node);
    check(it != index_.end(), ErrorKind::Parse,
          "{} refers to the node '{}', which is not in the graph", who, r.node);
    return it->second;
  }

  bool is_cut(const NodeDef& n) const { return cut_.contains(n.name); }

  std::vector<std::string> output_names() const {
    auto names = options_.outputs;
    if (names.empty()) {
      std::vector<bool> read(def_.nodes.size(), false);
      for (const NodeDef& n : def_.nodes) {
        for (std::string_view in : n.inputs)
          read[find(parse_reference(in), "node '" + std::string(n.name) + "'")] = true;
      }
      for (std::size_t i = 0; i < def_.nodes.size(); ++i) {
        const auto& op = def_.nodes[i].op;
        if (!read[i] && op != "Const" && op != "NoOp" && !is_placeholder(def_.nodes[i]))
          names.emplace_back(def_.nodes[i].name);
      }
      check(!names.empty(), ErrorKind::Parse, "no node of the graph is an output");
    }
    names.insert(names.end(), options_.extra_outputs.begin(), options_.extra_outputs.end());
    return names;
  }

  // Nodes that the outputs need, cut nodes included.
  std::vector<bool> needed(const std::vector<std::string>& outputs) const {
    std::vector<bool> seen(def_.nodes.size(), false);
    std::vector<std::size_t> stack;
    for (const auto& name : outputs)
      stack.push_back(find(parse_reference(name), "output '" + name + "'"));
    while (!stack.empty()) {
      const std::size_t i = stack.back();
      stack.pop_back();
      if (seen[i]) continue;
      seen[i] = true;
      const NodeDef& n = def_.nodes[i];
      if (is_cut(n)) continue;
      for (std::string_view in : n.inputs) {
        const Reference r = parse_reference(in);
        if (!r.control) stack.push_back(find(r, "node '" + std::string(n.name) + "'"));
      }
    }
    return seen;
  }

  std::map<std::string, std::vector<std::string>> unknown_operators(
      const std::vector<std::string>& outputs) const {
    std::map<std::string, std::vector<std::string>> unknown;
    const auto seen = needed(outputs);
    for (std::size_t i = 0; i < def_.nodes.size(); ++i) {
      const NodeDef& n = def_.nodes[i];
      if (!seen[i] || is_cut(n) || is_placeholder(n) || find_operator(n.op)) continue;
      unknown[std::string(n.op)].emplace_back(n.name);
    }
    return unknown;
  }

  void check_operators(const std::vector<std::string>& outputs) const {
    const auto unknown = unknown_operators(outputs);
    if (unknown.empty()) return;
    std::string text;
    for (const auto& [op, nodes] : unknown) {
      text += fmt::format("{}{} ({}×, first at '{}')", text.empty() ? "" : ", ", op, nodes.size(),
                          nodes.front());
    }
    fail(ErrorKind::Unsupported, "unsupported operators: {}", text);
  }

  std::size_t input_order(ValueId v) const { return index_.at(graph_.value_name(v)); }

  ValueId value(const Reference& r, const std::string& who) {
    const std::size_t i = find(r, who);
    import(i);
    check(r.slot < values_[i].size(), ErrorKind::Parse,
          "{} refers to output {} of '{}', which has {}", who, r.slot, r.node, values_[i].size());
    return values_[i][r.slot];
  }

  // Imports the node and all that it needs, without recursion.
  void import(std::size_t root) {
    std::vector<std::size_t> stack{root};
    while (!stack.empty()) {
      const std::size_t i = stack.back();
      if (state_[i] == State::Done) {
        stack.pop_back();
        continue;
      }
      const NodeDef& n = def_.nodes[i];
      bool ready = true;
      if (!is_cut(n) && !is_placeholder(n)) {
        for (std::string_view in : n.inputs) {
          const Reference r = parse_reference(in);
          if (r.control) continue;
          const std::size_t from = find(r, "node '" + std::string(n.name) + "'");
          if (state_[from] == State::Done) continue;
          check(state_[from] != State::Open, ErrorKind::Parse, "node '{}' ({}) is part of a cycle",
                n.name, n.op);
          ready = false;
          stack.push_back(from);
        }
      }
      if (!ready) {
        state_[i] = State::Open;
        continue;
      }
      stack.pop_back();
      try {
        values_[i] = import_node(n);
      } catch (Error& e) {
        e.in_origin(n.name, fmt::format("node '{}' ({}, #{})", n.name, n.op, i));
        throw;
      }
      state_[i] = State::Done;
    }
  }

  std::vector<ValueId> import_node(const NodeDef& n) {
    if (is_cut(n) || is_placeholder(n)) return {add_input(n)};
    std::vector<ValueId> inputs;
    for (std::string_view in : n.inputs) {
      const Reference r = parse_reference(in);
      if (r.control) continue;
      const auto& from = values_[find(r, std::string(n.name))];
      check(r.slot < from.size(), ErrorKind::Parse,
            "input '{}' does not exist: the node has {} outputs", in, from.size());
      inputs.push_back(from[r.slot]);
    }
    NodeContext c(graph_, n, std::move(inputs), file_);
    auto values = find_operator(n.op)->import(c);
    // Values made by this node carry its name; one that passes through keeps the name it has.
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (std::find(c.given().begin(), c.given().end(), values[k]) != c.given().end()) continue;
      graph_.rename(values[k], std::string(n.name) + (k == 0 ? "" : ":" + std::to_string(k)));
    }
    return values;
  }

  ValueId add_input(const NodeDef& n) {
    const std::string name(n.name);
    DType dtype = DType::F32;
    for (const char* key : {"dtype", "T"}) {
      const auto it = n.attrs.find(key);
      if (it != n.attrs.end() && it->second.kind == AttrValue::Kind::Type)
        dtype = dtype_of_tf(it->second.i);
    }
    if (const auto given = options_.input_shapes.find(name); given != options_.input_shapes.end()) {
      return graph_.add_source(name, Fact::tensor(dtype, given->second));
    }
    const auto it = n.attrs.find("shape");
    check(is_placeholder(n) && it != n.attrs.end() && it->second.kind == AttrValue::Kind::Shape,
          ErrorKind::Unsupported,
          "the shape of input '{}' is not in the file: give it with --shape {}=…", name, name);
    const auto dims = parse_shape(it->second.s);
    check(dims.has_value(), ErrorKind::Unsupported,
          "input '{}' has no rank in the file: give its shape with --shape {}=…", name, name);
    SymShape shape;
    for (std::size_t a = 0; a < dims->size(); ++a) {
      if ((*dims)[a] >= 0) {
        shape.emplace_back((*dims)[a]);
        continue;
      }
      const std::string symbol = a == 0 ? "batch" : name + "_" + std::to_string(a);
      const auto known = options_.symbols.find(symbol);
      shape.push_back(known != options_.symbols.end() ? Dim(known->second)
                                                      : graph_.named_symbol(symbol));
    }
    return graph_.add_source(name, Fact::tensor(dtype, std::move(shape)));
  }

  std::shared_ptr<const MappedFile> file_;
  const LoadOptions& options_;
  GraphDef def_;
  Graph graph_;
  std::unordered_map<std::string_view, std::size_t> index_;
  std::set<std::string, std::less<>> cut_;
  std::vector<std::vector<ValueId>> values_;
  std::vector<State> state_;
};

}  // namespace

Graph load(const std::string& path, const LoadOptions& options) {
  return load(MappedFile::open(path), path, options);
}

Graph load(std::shared_ptr<const MappedFile> file, const std::string& name,
           const LoadOptions& options) {
  return in_context([&] { return name; },
                    [&] { return Importer(std::move(file), options).load(); });
}

std::vector<Problem> check_model(const std::string& path, const LoadOptions& options) {
  try {
    return Importer(MappedFile::open(path), options).problems();
  } catch (const Error& e) {
    return {{e.kind(), path + ": " + e.what()}};
  }
}

}  // namespace treadle::tf
