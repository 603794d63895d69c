// The import of one file: names, scopes, functions and subgraphs. Internal to formats/onnx.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/onnx/index.hpp"
#include "formats/onnx/load.hpp"
#include "formats/onnx/tensors.hpp"

namespace treadle::onnx {

// What a name stands for.
struct Binding {
  ValueId value;          // not present: an omitted function input
  bool poisoned = false;  // what computes it could not be imported
};

// Thrown when something depends on a poisoned value, whose cause is recorded already.
struct Poisoned {};

// The graph that nodes are added to, and what it captures from the graph around it.
struct Frame {
  Graph& graph;
  std::vector<ValueId> captured;  // values of the outer graph, in the order of the added inputs
  std::unordered_map<ValueId, ValueId, ValueIdHash> captured_as;
};

using AttributeMap = std::unordered_map<std::string_view, const Attribute*>;

// The names of one graph or function body. `outer` is the scope around it, in the same or in
// another frame; functions have none.
struct Scope {
  Scope(Frame& f, const Scope* around, std::string name_prefix)
      : frame(&f), outer(around), prefix(std::move(name_prefix)) {}

  // The value, captured from outer frames if need be; null when nothing defines it.
  const Binding* find(std::string_view name) const;
  void define(std::string_view name, Binding b) { values.insert_or_assign(name, b); }

  Frame* frame;
  const Scope* outer;
  std::string prefix;  // of the names of values and nodes
  const OpsetImports* opsets = nullptr;
  const AttributeMap* arguments = nullptr;  // inside functions: the call's attributes
  int depth = 0;                            // of functions and subgraphs
  mutable std::unordered_map<std::string_view, Binding> values;
};

struct UnknownOperator {
  std::size_t count = 0;
  std::string first;                  // the node
  std::optional<std::int64_t> opset;  // of its domain, when the model names it
};

// The state of one import.
class Import {
 public:
  Import(std::shared_ptr<const MappedFile> file, std::optional<std::string> folder,
         const LoadOptions& options, bool keep_going);

  // Throws as load() does, without the file as context.
  Graph run();
  // Only what inputs and outputs declare.
  formats::Interface interface();
  const std::vector<Problem>& problems() const { return problems_; }

  // Imports nodes in order; those for which `needed` (when not empty) is false are left out.
  void nodes(Scope& scope, const std::vector<NodeProto>& protos, const NodeIndex& index,
             const std::vector<bool>& needed = {});
  // Binds initializers of a body.
  void initializers(Scope& scope, const GraphProto& proto, const std::set<std::string_view>& skip);
  // A body that `fill` adds nodes and outputs to, in a scope of its own within `scope`.
  Body make_body(const Scope& scope, const std::function<void(Scope&)>& fill);
  Body body(const Scope& scope, const NodeProto& node, const std::string& name,
            std::string_view encoded, std::span<const Fact> formal);
  std::vector<ValueId> inline_body(const Scope& scope, const std::string& name,
                                   std::string_view encoded, std::span<const ValueId> inputs);
  // The fact that a declared type stands for; unknown sizes become symbols of `graph`.
  Fact fact_of(const TypeProto& type, Graph& graph, std::string_view name);

  TensorReader& tensors() { return tensors_; }
  GraphCache& graphs() { return graphs_; }

 private:
  void node(Scope& scope, const NodeProto& proto, std::size_t position);
  bool import_node(Scope& scope, const NodeProto& proto, std::size_t position);
  std::vector<ValueId> call(Scope& scope, const NodeProto& proto, const FunctionProto& function);
  const FunctionProto* find_function(const NodeProto& proto) const;
  void bind_outputs(Scope& scope, const NodeProto& proto, const std::vector<ValueId>& values,
                    std::size_t first_new);
  void poison_outputs(Scope& scope, const NodeProto& proto);
  std::int64_t opset(const Scope& scope, std::string_view domain) const;
  std::optional<std::int64_t> declared_opset(const Scope& scope, std::string_view domain) const;
  void note_unknown(const Scope& scope, const NodeProto& proto, std::size_t position);
  void note_unknown_inside(const Scope& scope, const NodeProto& proto);
  void note(const Error& e);
  std::vector<ValueId> body_outputs(Scope& scope, const GraphProto& proto);

  void parse();
  void check_opsets(const ModelProto& model);
  void inputs(Scope& scope, const GraphProto& proto);
  void cut_inputs(Scope& scope, const IndexedGraph& g);
  std::vector<bool> needed_nodes(const Scope& scope, const IndexedGraph& g) const;
  std::vector<std::string_view> output_names(const GraphProto& proto) const;
  void outputs(Scope& scope, const GraphProto& proto);
  void check_declared(const Fact& fact, const ValueInfo& declared) const;
  void drop_unused_inputs(Graph& graph);
  Dim dim_of(const DimProto& dim, Graph& graph, std::string_view name, std::size_t axis);
  Fact with_options(Fact fact, Graph& graph, std::string_view name);
  [[noreturn]] void fail_unknown() const;

  std::shared_ptr<const MappedFile> file_;
  LoadOptions options_;
  bool keep_going_;
  bool only_interface_ = false;
  TensorReader tensors_;
  GraphCache graphs_;
  ModelProto model_;
  std::map<std::string, const FunctionProto*, std::less<>> functions_;
  std::unordered_map<const FunctionProto*, NodeIndex> function_indexes_;
  std::vector<const FunctionProto*> calls_;
  std::set<std::string, std::less<>> cuts_, used_symbols_;
  std::int64_t imported_nodes_ = 0;
  int bodies_ = 0;
  std::map<std::pair<std::string, std::string>, UnknownOperator> unknown_;
  std::unordered_set<const void*> noted_;
  std::set<std::string> problem_texts_;
  std::vector<Problem> problems_;
  friend class ImportContext;
};

}  // namespace treadle::onnx
