// The messages of an ONNX file, as views into its bytes. Subgraphs, tensors and the types of inner
// values stay encoded until somebody asks for them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/onnx/importer.hpp"

namespace treadle::onnx {

// AttributeProto.AttributeType.
enum AttributeType : int {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};
std::string_view attribute_type_name(int type);

struct DimProto {
  enum class Kind : std::uint8_t { Unknown, Value, Label };
  Kind kind = Kind::Unknown;
  std::int64_t value = 0;
  std::string_view label;
};

struct TypeProto {
  enum class Kind : std::uint8_t { None, Tensor, Sequence, Optional, Map, SparseTensor, Opaque };
  Kind kind = Kind::None;
  std::int64_t elem_type = 0;  // tensors
  bool has_shape = false;
  std::vector<DimProto> dims;
  std::shared_ptr<const TypeProto> element;  // sequences and optionals; may be null
};

struct ValueInfo {
  std::string_view name;
  TypeProto type;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<std::string_view> initializers;         // encoded TensorProtos
  std::vector<std::string_view> sparse_initializers;  // encoded SparseTensorProtos
  std::vector<ValueInfo> inputs, outputs;
  std::vector<std::string_view> value_infos;  // encoded ValueInfoProtos
};

using OpsetImports = std::vector<std::pair<std::string_view, std::int64_t>>;

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<Attribute> defaults;
  std::vector<NodeProto> nodes;
  OpsetImports opsets;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  OpsetImports opsets;
  std::optional<std::string_view> graph;  // encoded GraphProto
  std::vector<FunctionProto> functions;
};

// Each throws a Parse error when the bytes are no such message.
ModelProto parse_model(std::string_view bytes);
GraphProto parse_graph(std::string_view bytes);
TypeProto parse_type(std::string_view bytes);
ValueInfo parse_value_info(std::string_view bytes);
// Only the name of an encoded TensorProto (SparseTensorProto: of its values).
std::string_view tensor_name(std::string_view bytes);
std::string_view sparse_tensor_name(std::string_view bytes);

}  // namespace treadle::onnx
