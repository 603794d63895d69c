// The parts of a GraphDef that are read, as views into the file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "tensor/tensor.hpp"

namespace treadle::tf {

struct AttrValue {
  enum class Kind : std::uint8_t {
    None,
    Bytes,
    Int,
    Float,
    Bool,
    Type,
    Shape,
    Tensor,
    List,
    Function
  } kind = Kind::None;
  std::string_view s;  // Bytes; the encoded message for Shape and Tensor; a Function's name
  std::int64_t i = 0;  // Int, Bool, Type
  float f = 0;
  // Of a list:
  std::vector<std::int64_t> ints;  // and types
  std::vector<float> floats;
  std::vector<std::string_view> strings;  // and names of functions
};

struct NodeDef {
  std::string_view name, op;
  std::vector<std::string_view> inputs;
  std::map<std::string_view, AttrValue> attrs;
};

// A function of the graph's library. Inputs of its nodes name an argument, or "node:output:index".
struct FunctionDef {
  struct Output {
    std::string_view name, value;  // value: "node:output:index", or an argument
  };
  std::string_view name;
  std::vector<std::string_view> arguments;
  std::vector<Output> outputs;
  std::vector<NodeDef> nodes;
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<FunctionDef> functions;
};

// Throws Parse error for bytes that are no GraphDef.
GraphDef parse_graph(std::string_view bytes);
// Throws Parse error naming the number for a DataType that is unknown, Unsupported for one that
// treadle has not. Reference types count as the type that they refer to.
DType dtype_of_tf(std::int64_t type);
// nullopt: unknown rank. A size of −1 is unknown.
std::optional<std::vector<std::int64_t>> parse_shape(std::string_view bytes);
// The elements stay in the file when they are aligned (`owner` keeps it). A single stored element
// stands for all. Throws Parse error naming expected and got.
Tensor parse_tensor(std::string_view bytes, const std::shared_ptr<const void>& owner);

}  // namespace treadle::tf
