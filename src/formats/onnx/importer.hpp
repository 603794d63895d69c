// How an ONNX operator becomes core operators.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "formats/control.hpp"
#include "graph/graph.hpp"
#include "ops/build.hpp"

namespace treadle::onnx {

struct GraphProto;
class Scope;

// One attribute as it stands in the file; views point into the mapped file.
struct Attribute {
  std::string_view name;
  int type = 0;  // AttributeProto.AttributeType
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
  std::string_view tensor;         // encoded TensorProto
  std::string_view graph;          // encoded GraphProto
  std::string_view sparse_tensor;  // encoded SparseTensorProto
  std::string_view type_proto;     // encoded TypeProto
  std::string_view ref_name;       // ref_attr_name, inside functions
};

struct NodeProto {
  std::string_view name, op_type, domain, overload;  // domain "" is ai.onnx
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> attributes;
};

using formats::Body;

// What an operator's importer works with. Errors that it throws get file and node as context.
class NodeContext {
 public:
  virtual ~NodeContext() = default;

  virtual Graph& graph() = 0;
  virtual const NodeProto& proto() const = 0;
  // The model's opset of the node's own domain.
  virtual std::int64_t opset() const = 0;
  // A name for nodes made for this one: the node's name, or its first output's.
  virtual const std::string& name() const = 0;

  // Inputs. Trailing omitted ones are not counted.
  virtual std::size_t inputs() const = 0;
  virtual std::size_t outputs() const = 0;
  virtual bool has(std::size_t i) const = 0;           // given and not omitted
  virtual bool wants_output(std::size_t i) const = 0;  // named and not ""
  // Throws Parse error "input 2 'w' is required" when omitted.
  virtual ValueId in(std::size_t i) const = 0;
  const Fact& fact(std::size_t i) { return graph().fact(in(i)); }

  // Attributes; a wrong type is a Parse error naming attribute, expected and got.
  virtual const Attribute* attribute(std::string_view attr) const = 0;
  bool has_attr(std::string_view attr) const { return attribute(attr) != nullptr; }
  virtual std::int64_t int_attr(std::string_view attr,
                                std::optional<std::int64_t> fallback) const = 0;
  virtual double float_attr(std::string_view attr, std::optional<double> fallback) const = 0;
  virtual std::string string_attr(std::string_view attr,
                                  std::optional<std::string> fallback) const = 0;
  virtual std::optional<std::vector<std::int64_t>> ints_attr(std::string_view attr) const = 0;
  virtual std::optional<std::vector<double>> floats_attr(std::string_view attr) const = 0;
  virtual std::optional<std::vector<std::string>> strings_attr(std::string_view attr) const = 0;
  // Dense and sparse tensors.
  virtual std::optional<Tensor> tensor_attr(std::string_view attr) const = 0;
  // A type attribute as a fact.
  virtual std::optional<Fact> type_attr(std::string_view attr) = 0;

  // Constant elements of input i, or nullopt when they are not known at import.
  std::optional<Tensor> constant(std::size_t i) {
    return fact(i).value ? std::optional(*fact(i).value) : std::nullopt;
  }
  // The same, required: throws Unsupported error "input 1 'axes' must be a constant".
  virtual Tensor required_constant(std::size_t i) = 0;
  std::optional<std::vector<std::int64_t>> constant_ints(std::size_t i);
  // Integer elements as expressions over symbols, when known.
  std::optional<std::vector<Dim>> symbolic(std::size_t i) { return fact(i).symbolic(); }

  // Adds a node named after this one; outputs get the ONNX output names when it is the node's last
  // (the caller need not care: returned values are renamed).
  ValueId add1(OperatorPtr op, std::vector<ValueId> inputs) {
    return graph().add1(fresh_name(), std::move(op), std::move(inputs));
  }
  std::vector<ValueId> add(OperatorPtr op, std::vector<ValueId> inputs) {
    return graph().add(fresh_name(), std::move(op), std::move(inputs));
  }
  ValueId constant_value(Tensor t) { return graph().add_constant(fresh_name(), std::move(t)); }
  // name(), name()+"/1", … : unique among the nodes that this importer call adds.
  virtual std::string fresh_name() = 0;

  // Imports a graph attribute; `formal` are facts of its declared inputs (used in place of what the
  // file declares where they say more).
  virtual Body body(std::string_view attr, std::span<const Fact> formal) = 0;
  // As body(); a Shape error does not leave it but goes to `why`, and there is no body.
  virtual std::optional<Body> try_body(std::string_view attr, std::span<const Fact> formal,
                                       std::optional<Error>& why) = 0;
  // Imports a graph attribute into graph() itself, on the given inputs; returns its outputs.
  virtual std::vector<ValueId> inline_body(std::string_view attr,
                                           std::span<const ValueId> inputs) = 0;
  // The number of inputs and outputs that a graph attribute declares.
  virtual std::pair<std::size_t, std::size_t> body_arity(std::string_view attr) = 0;
  // The types that a graph attribute declares for its outputs.
  virtual std::vector<Fact> body_output_facts(std::string_view attr) = 0;
};

// Returns one value an ONNX output (trailing ones that the file does not name may be left out).
using ImportFn = std::vector<ValueId> (*)(NodeContext&);

struct OperatorEntry {
  std::string_view domain;  // "" is ai.onnx
  std::string_view op_type;
  ImportFn import;
};

// All operators; the table is expanded from table.inc in table.cpp. Null when there is none.
const OperatorEntry* find_operator(std::string_view domain, std::string_view op_type);
std::span<const OperatorEntry> operators();

}  // namespace treadle::onnx
