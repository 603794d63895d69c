// How a TensorFlow operator becomes core operators.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "formats/control.hpp"
#include "formats/options.hpp"
#include "formats/tf/proto.hpp"
#include "graph/graph.hpp"
#include "ops/build.hpp"
#include "ops/spatial.hpp"

namespace treadle::tf {

// A graph under construction, and what it captures from the graph around it.
struct Builder {
  Builder(Graph& g, Builder* around) : graph(g), outer(around) {}
  // A value of the outer graph here: constants are repeated, everything else becomes one more
  // input.
  ValueId capture(ValueId from);

  Graph& graph;
  Builder* outer;
  std::vector<ValueId> captured;  // values of the outer graph, in the order of the added inputs
  std::unordered_map<ValueId, ValueId, ValueIdHash> captured_as;
};

// The functions of the graph's library, and bodies.
class Functions {
 public:
  virtual ~Functions() = default;
  virtual bool has(std::string_view function) const = 0;
  // Imports the function's nodes on the given arguments; throws Parse error when it is not there.
  virtual std::vector<ValueId> call(std::string_view function, Builder& builder,
                                    std::span<const ValueId> arguments) = 0;
  // What a body computes from its formal inputs.
  using Step = std::function<std::vector<ValueId>(Builder&, std::span<const ValueId>)>;
  // A graph of its own with what `step` computes as outputs.
  virtual formats::Body body(Builder& outer, std::span<const Fact> formal, const Step& step) = 0;
};

// Throws unless `ok`: a Shape error, or NeedsSizes while `sizes` are not all numbers, as those of a
// run may be right.
template <typename... Args>
void check_sizes(bool ok, const SymShape& sizes, fmt::format_string<Args...> format,
                 Args&&... args) {
  if (ok) return;
  std::string text = fmt::format(format, std::forward<Args>(args)...);
  if (!is_const(sizes)) throw formats::NeedsSizes(std::move(text));
  throw Error(ErrorKind::Shape, std::move(text));
}

// The node that is imported. Errors thrown through it get file and node as context.
class NodeContext {
 public:
  NodeContext(Builder& builder, Functions& functions, const NodeDef& node,
              std::vector<ValueId> inputs, std::shared_ptr<const void> owner)
      : builder_(builder),
        functions_(functions),
        graph_(builder.graph),
        node_(node),
        inputs_(std::move(inputs)),
        owner_(std::move(owner)),
        name_(node.name) {}

  Graph& graph() { return graph_; }
  Builder& builder() { return builder_; }
  Functions& functions() { return functions_; }
  const NodeDef& node() const { return node_; }
  const std::string& name() const { return name_; }
  std::size_t inputs() const { return inputs_.size(); }
  const std::vector<ValueId>& given() const { return inputs_; }
  // Throws Parse error "input 2 is missing".
  ValueId in(std::size_t i) const;
  const Fact& fact(std::size_t i) const { return graph_.fact(in(i)); }

  // Attributes; one that is absent has its default, a wrong kind is a Parse error.
  const AttrValue* attr(std::string_view key) const;
  std::int64_t int_attr(std::string_view key, std::int64_t fallback) const;
  bool bool_attr(std::string_view key, bool fallback) const { return int_attr(key, fallback) != 0; }
  double float_attr(std::string_view key, double fallback) const;
  std::string string_attr(std::string_view key, std::string fallback) const;
  std::vector<std::int64_t> ints_attr(std::string_view key) const;
  DType type_attr(std::string_view key, DType fallback) const;
  Tensor tensor_attr(std::string_view key) const;
  // The name of a function of the library; a missing one is a Parse error.
  std::string_view function_attr(std::string_view key) const;
  // Sizes, −1 where unknown; nullopt when the attribute is absent or the rank unknown.
  std::optional<std::vector<std::int64_t>> shape_attr(std::string_view key) const;

  // Constant integers of input i; throws Unsupported error when they are not known at import.
  std::vector<std::int64_t> constant_ints(std::size_t i) const;
  // Integer elements of input i that may hold symbols; throws Unsupported error when unknown.
  std::vector<Dim> symbolic(std::size_t i) const;

  // Layout from the data_format attribute.
  ops::Layout layout() const;
  // The entries of a [N, H, W, C]-like attribute for the spatial axes; those for N and C must be 1.
  std::vector<std::int64_t> spatial_attr(std::string_view key, ops::Layout layout, int rank) const;
  ops::Padding padding(ops::Layout layout, int rank) const;

  std::string fresh_name();
  ValueId add1(OperatorPtr op, std::vector<ValueId> inputs) {
    return graph_.add1(fresh_name(), std::move(op), std::move(inputs));
  }
  ValueId constant(Tensor t) { return graph_.add_constant(fresh_name(), std::move(t)); }
  // The helpers of ops/build.hpp, under a fresh name.
  ValueId unary(ops::UnaryFn fn, ValueId x, double a = 0, double b = 0);
  ValueId binary(ops::BinaryFn fn, ValueId a, ValueId b);
  ValueId select(ValueId condition, ValueId a, ValueId b);
  ValueId scalar(double value, ValueId like);

 private:
  Builder& builder_;
  Functions& functions_;
  Graph& graph_;
  const NodeDef& node_;
  std::vector<ValueId> inputs_;
  std::shared_ptr<const void> owner_;
  std::string name_;
  int made_ = 0;
};

using ImportFn = std::vector<ValueId> (*)(NodeContext&);

struct OperatorEntry {
  std::string_view op;
  ImportFn import;
};
// Null when there is none. The table is expanded from table.inc in table.cpp.
const OperatorEntry* find_operator(std::string_view op);
std::span<const OperatorEntry> operators();

}  // namespace treadle::tf
