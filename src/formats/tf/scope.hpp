// The import of nodes into graphs: scopes (the whole graph, a function, a loop's body, a branch)
// and the graphs that they are built in. Internal to formats/tf.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/tf/flow.hpp"
#include "formats/tf/importer.hpp"
#include "formats/tf/load.hpp"

namespace treadle::tf {

// Nodes with their control flow; a graph or one function of its library.
struct Unit {
  Unit(Nodes n, const std::vector<bool>& stop, int max_nesting)
      : nodes(std::move(n)), flow(nodes, stop, max_nesting) {}
  Unit(const Unit&) = delete;
  Nodes nodes;
  Flow flow;
};

// What is common to all scopes of one import.
class Import final : public Functions {
 public:
  Import(std::shared_ptr<const MappedFile> file, std::string_view bytes,
         const LoadOptions& options);

  Graph run();
  // Everything that keeps the model from being loaded.
  std::vector<Problem> problems();
  // Inputs and outputs, without a look at what computes them.
  formats::Interface interface() const;

  const LoadOptions& options() const { return options_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  // Whether the node becomes an input of the graph.
  bool is_input(const Unit& unit, std::uint32_t node) const {
    return is_main(unit) && is_input(unit.nodes[node]);
  }
  // Throws Memory error when loops and functions expand to too many nodes.
  void count_nodes(std::size_t n = 1);
  // Takes an error of a node of the graph; false when the first one is to be thrown.
  bool note(const Error& e);
  bool is_main(const Unit& unit) const { return &unit == main_.get(); }
  bool needed(const Unit& unit, std::uint32_t node) const {
    return !is_main(unit) || needed_[node];
  }
  // Throws formats::NeedsSizes when neither the file nor the options give its shape.
  ValueId add_input(Graph& graph, const NodeDef& n) const;

  // Functions:
  bool has(std::string_view function) const override { return functions_.contains(function); }
  std::vector<ValueId> call(std::string_view function, Builder& builder,
                            std::span<const ValueId> arguments) override;
  formats::Body body(Builder& outer, std::span<const Fact> formal, const Step& step) override;

 private:
  bool is_input(const NodeDef& n) const { return is_placeholder(n) || cut_.contains(n.name); }
  Fact input_fact(Graph& graph, const NodeDef& n) const;
  std::optional<std::vector<std::int64_t>> declared_shape(const NodeDef& n) const;
  std::vector<std::string> output_names() const;
  void mark_needed(const std::vector<std::string>& outputs);
  Graph import();
  const Unit& function(std::string_view name);

  std::shared_ptr<const MappedFile> file_;
  const LoadOptions& options_;
  GraphDef def_;
  std::set<std::string, std::less<>> cut_;
  std::map<std::string_view, const FunctionDef*> functions_;
  std::map<std::string_view, std::unique_ptr<Unit>> units_;
  std::unique_ptr<Unit> main_;
  std::vector<std::string> outputs_;
  std::vector<bool> needed_;
  int inputs_of_a_batch_ = 0;                 // inputs whose first size the file does not say
  std::vector<Problem>* problems_ = nullptr;  // where errors go when all of them are wanted
  std::int64_t imported_ = 0;
  int calls_ = 0, bodies_ = 0;  // calls: those that are open
};

// An operator without an importer.
class UnknownOperator : public Error {
 public:
  explicit UnknownOperator(std::string_view op)
      : Error(ErrorKind::Unsupported, fmt::format("operator {} is not supported", op)) {}
};

// Imports nodes of a unit where they run: nodes of the scope's loop frame and guard, each once.
// What runs around it comes from the outer scope.
class Scope {
 public:
  enum class Kind { Unit, Loop, Branch };
  // A graph or a function.
  Scope(Import& import, const Unit& unit, Builder& builder);
  // The body (or the condition) of a loop, or a branch, in the same or another graph.
  Scope(Scope& outer, Kind kind, Builder& builder, std::uint32_t frame, std::uint32_t guard);

  // What a node gives without being imported: an argument, a loop's variable.
  void bind(std::uint32_t node, std::vector<ValueId> values) { values_[node] = std::move(values); }
  ValueId get(Edge e);
  // Imports the value's node; false when it, or one that it needs, could not be (which is noted).
  bool try_import(Edge e);

 private:
  // Whether the value is imported here and not further out.
  bool is_here(Edge e) const;
  // Throws unless the value, which is here, can be read here.
  void check_place(Edge e) const;
  void import(std::uint32_t node);
  // What must be imported before the node, in this scope or around it.
  std::vector<Edge> needs(std::uint32_t node) const;
  void add_needs_of_branch(const std::vector<std::uint32_t>& merges, std::uint32_t guard,
                           std::vector<Edge>& out) const;
  // Whether an input could not be imported.
  bool is_poisoned(std::uint32_t node) const;
  void import_one(std::uint32_t node);
  std::vector<ValueId> import_operator(std::uint32_t node);
  void import_condition(std::uint32_t merge);
  void import_loop(std::uint32_t frame);

  Import& import_;
  const Unit& unit_;
  Builder& builder_;
  Scope* outer_ = nullptr;
  Kind kind_ = Kind::Unit;
  std::uint32_t frame_ = 0, guard_ = 0;
  std::unordered_map<std::uint32_t, std::vector<ValueId>> values_;
  std::unordered_set<std::uint32_t> open_, poisoned_;
};

}  // namespace treadle::tf
