// The interface of a core operator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "graph/fact.hpp"
#include "graph/value.hpp"

namespace treadle {

class Graph;
class Operator;
using OperatorPtr = std::shared_ptr<const Operator>;

// Receives an operator's parameters, each by its name. Printing, equality and hashing come from it.
class ParamVisitor {
 public:
  virtual ~ParamVisitor() = default;
  virtual void param(std::string_view name, std::int64_t v) = 0;
  virtual void param(std::string_view name, double v) = 0;
  virtual void param(std::string_view name, bool v) = 0;
  virtual void param(std::string_view name, std::string_view v) = 0;
  virtual void param(std::string_view name, DType v) = 0;
  virtual void param(std::string_view name, const Dim& v) = 0;
  virtual void param(std::string_view name, const std::vector<std::int64_t>& v) = 0;
  virtual void param(std::string_view name, const std::vector<double>& v) = 0;
  virtual void param(std::string_view name, const std::vector<std::string>& v) = 0;
  virtual void param(std::string_view name, const SymShape& v) = 0;
  virtual void param(std::string_view name, const Tensor& v) = 0;
  virtual void param(std::string_view name, const Graph& v) = 0;
  void param(std::string_view name, int v) { param(name, static_cast<std::int64_t>(v)); }
  void param(std::string_view name, const char* v) { param(name, std::string_view(v)); }
};

// Inputs of `infer`: facts of the node's inputs; an omitted optional input is null.
using InputFacts = std::span<const Fact* const>;

// What `eval` works on. Inputs are resolved; an omitted optional input is null. Outputs have the
// dtype and shape that `infer` promised with symbols replaced by their values, and uninitialised
// elements; where the shape depends on run-time values (a symbol that this operator introduces) the
// operator allocates it with set_output.
class EvalContext {
 public:
  virtual ~EvalContext() = default;
  virtual std::size_t inputs() const = 0;
  virtual std::size_t outputs() const = 0;
  // Null when omitted. Tensor inputs only.
  virtual const TensorView* input(std::size_t i) const = 0;
  virtual const Value& input_value(std::size_t i) const = 0;
  // The place to write output i to. Static outputs only.
  virtual TensorView& output(std::size_t i) = 0;
  // For an output whose size is known only now, or that is a string tensor, sequence or optional.
  virtual void set_output(std::size_t i, Value value) = 0;
  // Runs a subgraph of this operator (If, Loop, Scan): its inputs are given in the order of the
  // subgraph's inputs, its outputs come back in order.
  virtual std::vector<Value> run_subgraph(std::size_t which, std::vector<Value> inputs) = 0;
  // Values of the symbols known so far, for operators with symbolic parameters.
  virtual std::int64_t value_of(const Dim& dim) const = 0;

  // input(i), which must be there.
  const TensorView& in(std::size_t i) const;
};

// Floating-point operations and bytes that one run costs, with symbols.
struct Cost {
  Dim flops = 0;
};

// A permutation of axes: axis i of the result is axis perm[i] of the source.
using Perm = std::vector<int>;

// How an operator can produce its first output with permuted axes.
struct AxisChange {
  OperatorPtr op;
  // For each input: how it has to be permuted, or nullopt when it stays.
  std::vector<std::optional<Perm>> inputs;
};

class Operator {
 public:
  virtual ~Operator() = default;

  // The kind: "Conv", "Unary". A variant is a parameter.
  virtual std::string_view name() const = 0;
  // Names every parameter. Default: none.
  virtual void visit(ParamVisitor& v) const;

  // Facts of the outputs from facts of the inputs; no output's `value` needs to be set (the graph
  // folds small constants itself through eval), but integer operators that shapes are computed with
  // set `dims` (most get it from fold_symbolic in graph/symbolic.hpp). Pure: called more than once.
  // Throws Shape or Type error that names input, expected and got.
  virtual std::vector<Fact> infer(InputFacts in) const = 0;

  // The plain reference implementation, for every dtype that infer accepts.
  virtual void eval(EvalContext& ctx) const = 0;

  // True when eval is a function of its inputs alone (random operators and state are not).
  virtual bool pure() const { return true; }
  // True when every output element is an unchanged element of input 0 (or of any input, for
  // Concat), whatever the data: Reshape, Transpose, Slice, Gather, Expand. Lets the graph move
  // symbolic sizes through eval. Inputs other than data (indices) must be constants for that.
  virtual bool moves_elements() const { return false; }
  // Inputs that are data for moves_elements; default: only input 0.
  virtual bool is_moved_input(std::size_t i) const { return i == 0; }

  virtual Cost cost(InputFacts in, std::span<const Fact> out) const;

  // The same computation with axes permuted, for moving transposes through; nullopt: it cannot.
  // `perm` applies to output 0 (and, when there are more outputs of the same rank, to each).
  virtual std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                                const Perm& perm) const;

  // Subgraphs, in the order that run_subgraph counts them.
  virtual std::vector<std::shared_ptr<const Graph>> subgraphs() const { return {}; }
  // The same operator over other subgraphs (as many, of the same interface).
  virtual OperatorPtr with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const;

  // The parameters as text: "strides=[2, 2] pads=[0, 0, 1, 1]".
  std::string params_text() const;
  // Equal kind and parameters.
  bool equals(const Operator& other) const;
  std::size_t hash() const;

  // The operator as T, or null: op->as<Conv>().
  template <typename T>
  const T* as() const {
    return typeid(*this) == typeid(T) ? static_cast<const T*>(this) : nullptr;
  }
};

// Declares the members that every operator defines in its .cpp.
#define TREADLE_OPERATOR(Kind)                               \
  std::string_view name() const override { return #Kind; }   \
  void visit(ParamVisitor& v) const override;                \
  std::vector<Fact> infer(InputFacts in) const override;     \
  void eval(EvalContext& ctx) const override

template <typename T, typename... Args>
OperatorPtr make_op(Args&&... args) {
  return std::make_shared<const T>(std::forward<Args>(args)...);
}

}  // namespace treadle
