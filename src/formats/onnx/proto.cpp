#include "formats/onnx/proto.hpp"

#include <array>

#include "formats/onnx/wire.hpp"

namespace treadle::onnx {
namespace {

constexpr int kMaxTypeNesting = 32;

DimProto read_dim(std::string_view bytes) {
  DimProto dim;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        dim.kind = DimProto::Kind::Value;
        dim.value = m.integer();
        break;
      case 2:
        dim.label = m.bytes();
        dim.kind = dim.label.empty() ? DimProto::Kind::Unknown : DimProto::Kind::Label;
        break;
      default:
        m.skip();
    }
  }
  return dim;
}

void read_tensor_type(std::string_view bytes, TypeProto& type) {
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        type.elem_type = m.integer();
        break;
      case 2: {
        type.has_shape = true;
        Message shape(m.bytes());
        while (shape.next()) {
          if (shape.tag() == 1) {
            type.dims.push_back(read_dim(shape.bytes()));
          } else {
            shape.skip();
          }
        }
        break;
      }
      default:
        m.skip();
    }
  }
}

TypeProto read_type(std::string_view bytes, int depth);

// The elem_type field of a Sequence or Optional type.
std::shared_ptr<const TypeProto> read_element(std::string_view bytes, int depth) {
  std::shared_ptr<const TypeProto> element;
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1) {
      element = std::make_shared<const TypeProto>(read_type(m.bytes(), depth + 1));
    } else {
      m.skip();
    }
  }
  return element;
}

TypeProto read_type(std::string_view bytes, int depth) {
  check(depth < kMaxTypeNesting, ErrorKind::Parse, "types nest deeper than {}", kMaxTypeNesting);
  TypeProto type;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        type.kind = TypeProto::Kind::Tensor;
        read_tensor_type(m.bytes(), type);
        break;
      case 4:
        type.kind = TypeProto::Kind::Sequence;
        type.element = read_element(m.bytes(), depth);
        break;
      case 9:
        type.kind = TypeProto::Kind::Optional;
        type.element = read_element(m.bytes(), depth);
        break;
      case 5:
        type.kind = TypeProto::Kind::Map;
        m.skip();
        break;
      case 7:
        type.kind = TypeProto::Kind::Opaque;
        m.skip();
        break;
      case 8:
        type.kind = TypeProto::Kind::SparseTensor;
        m.skip();
        break;
      default:
        m.skip();
    }
  }
  return type;
}

ValueInfo read_value_info(std::string_view bytes) {
  ValueInfo info;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        info.name = m.bytes();
        break;
      case 2:
        info.type = read_type(m.bytes(), 0);
        break;
      default:
        m.skip();
    }
  }
  return info;
}

// Files of early tools leave the type out; the field that is set says it.
int implied_type(std::uint32_t tag) {
  switch (tag) {
    case 2:
      return kFloat;
    case 3:
      return kInt;
    case 4:
      return kString;
    case 5:
      return kTensor;
    case 6:
      return kGraph;
    case 7:
      return kFloats;
    case 8:
      return kInts;
    case 9:
      return kStrings;
    case 14:
      return kTypeProto;
    case 22:
      return kSparseTensor;
    default:
      return kUndefined;
  }
}

Attribute read_attribute(std::string_view bytes) {
  Attribute a;
  int implied = kUndefined;
  Message m(bytes);
  while (m.next()) {
    if (const int t = implied_type(m.tag()); t != kUndefined) implied = t;
    switch (m.tag()) {
      case 1:
        a.name = m.bytes();
        break;
      case 2:
        a.f = m.f32();
        break;
      case 3:
        a.i = m.integer();
        break;
      case 4:
        a.s = m.bytes();
        break;
      case 5:
        a.tensor = m.bytes();
        break;
      case 6:
        a.graph = m.bytes();
        break;
      case 7:
        m.append(a.floats);
        break;
      case 8:
        m.append(a.ints);
        break;
      case 9:
        a.strings.push_back(m.bytes());
        break;
      case 14:
        a.type_proto = m.bytes();
        break;
      case 20:
        a.type = static_cast<int>(m.integer());
        break;
      case 21:
        a.ref_name = m.bytes();
        break;
      case 22:
        a.sparse_tensor = m.bytes();
        break;
      default:
        m.skip();
    }
  }
  if (a.type == kUndefined) a.type = implied;
  return a;
}

std::string_view normal_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

NodeProto read_node(std::string_view bytes) {
  NodeProto node;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        node.inputs.push_back(m.bytes());
        break;
      case 2:
        node.outputs.push_back(m.bytes());
        break;
      case 3:
        node.name = m.bytes();
        break;
      case 4:
        node.op_type = m.bytes();
        break;
      case 5:
        node.attributes.push_back(read_attribute(m.bytes()));
        break;
      case 7:
        node.domain = normal_domain(m.bytes());
        break;
      case 8:
        node.overload = m.bytes();
        break;
      default:
        m.skip();
    }
  }
  return node;
}

void read_opset(std::string_view bytes, OpsetImports& opsets) {
  std::string_view domain;
  std::int64_t version = 0;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        domain = normal_domain(m.bytes());
        break;
      case 2:
        version = m.integer();
        break;
      default:
        m.skip();
    }
  }
  for (const auto& [known, v] : opsets) {
    check(known != domain || v == version, ErrorKind::Parse,
          "opset_import names domain '{}' twice, with versions {} and {}", domain, v, version);
  }
  opsets.emplace_back(domain, version);
}

FunctionProto read_function(std::string_view bytes) {
  FunctionProto f;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        f.name = m.bytes();
        break;
      case 4:
        f.inputs.push_back(m.bytes());
        break;
      case 5:
        f.outputs.push_back(m.bytes());
        break;
      case 6:
        f.attributes.push_back(m.bytes());
        break;
      case 7:
        f.nodes.push_back(read_node(m.bytes()));
        break;
      case 9:
        read_opset(m.bytes(), f.opsets);
        break;
      case 10:
        f.domain = normal_domain(m.bytes());
        break;
      case 11:
        f.defaults.push_back(read_attribute(m.bytes()));
        break;
      case 13:
        f.overload = m.bytes();
        break;
      default:
        m.skip();
    }
  }
  return f;
}

std::string_view first_bytes(std::string_view message, std::uint32_t tag) {
  std::string_view found;
  Message m(message);
  while (m.next()) {
    if (m.tag() == tag) {
      found = m.bytes();
    } else {
      m.skip();
    }
  }
  return found;
}

}  // namespace

std::string_view attribute_type_name(int type) {
  static constexpr std::array<std::string_view, 15> kNames = {
      "undefined",      "float",      "int",        "string",  "tensor", "graph",
      "floats",         "ints",       "strings",    "tensors", "graphs", "sparse tensor",
      "sparse tensors", "type proto", "type protos"};
  return type >= 0 && type < 15 ? kNames[static_cast<std::size_t>(type)] : "unknown";
}

ModelProto parse_model(std::string_view bytes) {
  return decode("ModelProto", [&] {
    ModelProto model;
    Message m(bytes);
    while (m.next()) {
      switch (m.tag()) {
        case 1:
          model.ir_version = m.integer();
          break;
        case 7:
          model.graph = m.bytes();
          break;
        case 8:
          read_opset(m.bytes(), model.opsets);
          break;
        case 25:
          model.functions.push_back(read_function(m.bytes()));
          break;
        default:
          m.skip();
      }
    }
    return model;
  });
}

GraphProto parse_graph(std::string_view bytes) {
  return decode("GraphProto", [&] {
    GraphProto g;
    Message m(bytes);
    while (m.next()) {
      switch (m.tag()) {
        case 1:
          g.nodes.push_back(read_node(m.bytes()));
          break;
        case 2:
          g.name = m.bytes();
          break;
        case 5:
          g.initializers.push_back(m.bytes());
          break;
        case 11:
          g.inputs.push_back(read_value_info(m.bytes()));
          break;
        case 12:
          g.outputs.push_back(read_value_info(m.bytes()));
          break;
        case 13:
          g.value_infos.push_back(m.bytes());
          break;
        case 15:
          g.sparse_initializers.push_back(m.bytes());
          break;
        default:
          m.skip();
      }
    }
    return g;
  });
}

TypeProto parse_type(std::string_view bytes) {
  return decode("TypeProto", [&] { return read_type(bytes, 0); });
}

ValueInfo parse_value_info(std::string_view bytes) {
  return decode("ValueInfoProto", [&] { return read_value_info(bytes); });
}

std::string_view tensor_name(std::string_view bytes) {
  return decode("TensorProto", [&] { return first_bytes(bytes, 8); });
}

std::string_view sparse_tensor_name(std::string_view bytes) {
  return decode("SparseTensorProto", [&] { return first_bytes(first_bytes(bytes, 1), 8); });
}

}  // namespace treadle::onnx
