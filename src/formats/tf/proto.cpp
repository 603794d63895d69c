#include "formats/tf/proto.hpp"

#include <bit>
#include <cstring>

#include "formats/wire.hpp"

namespace treadle::tf {
namespace {

using wire::Message;

// The first field of a message: the name in a NameAttrList, ArgDef, TensorInfo.
std::string_view read_name(std::string_view bytes) {
  std::string_view name;
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1)
      name = m.bytes();
    else
      m.skip();
  }
  return name;
}

void read_list(std::string_view bytes, AttrValue& a) {
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 2:
        a.strings.push_back(m.bytes());
        break;
      case 3:
        m.append(a.ints);
        break;
      case 4:
        m.append(a.floats);
        break;
      case 5:
        m.append(a.ints);
        break;
      case 6:
        m.append(a.ints);
        break;
      case 9:
        a.strings.push_back(read_name(m.bytes()));
        break;
      default:
        m.skip();
    }
  }
}

AttrValue read_attr(std::string_view bytes) {
  using Kind = AttrValue::Kind;
  AttrValue a;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        a.kind = Kind::List;
        read_list(m.bytes(), a);
        break;
      case 2:
        a.kind = Kind::Bytes;
        a.s = m.bytes();
        break;
      case 3:
        a.kind = Kind::Int;
        a.i = m.integer();
        break;
      case 4:
        a.kind = Kind::Float;
        a.f = m.f32();
        break;
      case 5:
        a.kind = Kind::Bool;
        a.i = m.integer();
        break;
      case 6:
        a.kind = Kind::Type;
        a.i = m.integer();
        break;
      case 7:
        a.kind = Kind::Shape;
        a.s = m.bytes();
        break;
      case 8:
        a.kind = Kind::Tensor;
        a.s = m.bytes();
        break;
      case 10:
        a.kind = Kind::Function;
        a.s = read_name(m.bytes());
        break;
      default:
        m.skip();
    }
  }
  return a;
}

std::pair<std::string_view, std::string_view> read_entry(std::string_view bytes) {
  std::pair<std::string_view, std::string_view> out;
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1)
      out.first = m.bytes();
    else if (m.tag() == 2)
      out.second = m.bytes();
    else
      m.skip();
  }
  return out;
}

NodeDef read_node(std::string_view bytes) {
  NodeDef n;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        n.name = m.bytes();
        break;
      case 2:
        n.op = m.bytes();
        break;
      case 3:
        n.inputs.push_back(m.bytes());
        break;
      case 5: {
        const auto [key, value] = read_entry(m.bytes());
        n.attrs.insert_or_assign(key, read_attr(value));
        break;
      }
      default:
        m.skip();
    }
  }
  return n;
}

// An OpDef: name, arguments, names of outputs.
void read_signature(std::string_view bytes, FunctionDef& f) {
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1)
      f.name = m.bytes();
    else if (m.tag() == 2)
      f.arguments.push_back(read_name(m.bytes()));
    else if (m.tag() == 3)
      f.outputs.push_back({read_name(m.bytes()), {}});
    else
      m.skip();
  }
}

FunctionDef read_function(std::string_view bytes) {
  FunctionDef f;
  std::map<std::string_view, std::string_view> values;
  Message m(bytes);
  while (m.next()) {
    if (m.tag() == 1)
      read_signature(m.bytes(), f);
    else if (m.tag() == 3)
      f.nodes.push_back(read_node(m.bytes()));
    else if (m.tag() == 4)
      values.insert(read_entry(m.bytes()));
    else
      m.skip();
  }
  for (auto& out : f.outputs) {
    const auto it = values.find(out.name);
    check(it != values.end(), ErrorKind::Parse, "function '{}' does not compute its output '{}'",
          f.name, out.name);
    out.value = it->second;
  }
  return f;
}

struct TensorProto {
  std::int64_t dtype = 0;
  std::string_view shape, content;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> ints;  // int, int64, bool, half
  std::vector<std::string_view> strings;
};

TensorProto read_tensor(std::string_view bytes) {
  TensorProto t;
  Message m(bytes);
  while (m.next()) {
    switch (m.tag()) {
      case 1:
        t.dtype = m.integer();
        break;
      case 2:
        t.shape = m.bytes();
        break;
      case 4:
        t.content = m.bytes();
        break;
      case 5:
        m.append(t.floats);
        break;
      case 6:
        m.append(t.doubles);
        break;
      case 7:
      case 10:
      case 11:
      case 13:
      case 16:
      case 17:
        m.append(t.ints);
        break;
      case 8:
        t.strings.push_back(m.bytes());
        break;
      default:
        m.skip();
    }
  }
  return t;
}

// Stored elements; the last one stands for those that are left out (TensorFlow's compression).
template <typename T, typename S>
void fill(Tensor& t, const std::vector<S>& stored) {
  auto out = t.mutable_span<T>();
  check(stored.size() <= out.size() || stored.size() == 1, ErrorKind::Parse,
        "{} elements are stored for shape {}", stored.size(), t.shape().str());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (stored.empty()) {
      out[i] = T{};
      continue;
    }
    const S& v = stored[std::min(i, stored.size() - 1)];
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      out[i].bits = static_cast<std::uint16_t>(v);
    else if constexpr (std::is_same_v<T, bool>)
      out[i] = v != 0;
    else
      out[i] = T(v);
  }
}

void fill_any(Tensor& t, const TensorProto& p) {
  switch (t.dtype()) {
    case DType::F32:
      return fill<float>(t, p.floats);
    case DType::F64:
      return fill<double>(t, p.doubles);
    case DType::String:
      return fill<std::string>(t, p.strings);
    default:
      break;
  }
  dispatch(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, float> && !std::is_same_v<T, double>) fill<T>(t, p.ints);
  });
}

}  // namespace

GraphDef parse_graph(std::string_view bytes) {
  return wire::decode("GraphDef", [&] {
    GraphDef g;
    Message m(bytes);
    while (m.next()) {
      if (m.tag() == 1) {
        g.nodes.push_back(read_node(m.bytes()));
      } else if (m.tag() == 2) {
        Message library(m.bytes());
        while (library.next()) {
          if (library.tag() == 1)
            g.functions.push_back(read_function(library.bytes()));
          else
            library.skip();
        }
      } else {
        m.skip();
      }
    }
    return g;
  });
}

DType dtype_of_tf(std::int64_t type) {
  // DT_FLOAT_REF and so on are 100 above.
  switch (type > 100 ? type - 100 : type) {
    case 1:
      return DType::F32;
    case 2:
      return DType::F64;
    case 3:
      return DType::I32;
    case 4:
      return DType::U8;
    case 5:
      return DType::I16;
    case 6:
      return DType::I8;
    case 7:
      return DType::String;
    case 8:
      return DType::C64;
    case 9:
      return DType::I64;
    case 10:
      return DType::Bool;
    case 14:
      return DType::BF16;
    case 17:
      return DType::U16;
    case 18:
      return DType::C128;
    case 19:
      return DType::F16;
    case 22:
      return DType::U32;
    case 23:
      return DType::U64;
    default:
      break;
  }
  const bool known = type >= 11 && type <= 32;
  fail(known ? ErrorKind::Unsupported : ErrorKind::Parse, "TensorFlow data type {} is {}", type,
       known ? "not supported" : "unknown");
}

std::optional<std::vector<std::int64_t>> parse_shape(std::string_view bytes) {
  return wire::decode("TensorShapeProto", [&]() -> std::optional<std::vector<std::int64_t>> {
    std::vector<std::int64_t> dims;
    bool unknown_rank = false;
    Message m(bytes);
    while (m.next()) {
      if (m.tag() == 2) {
        std::int64_t size = 0;
        Message dim(m.bytes());
        while (dim.next()) {
          if (dim.tag() == 1)
            size = dim.integer();
          else
            dim.skip();
        }
        check(size >= -1, ErrorKind::Parse, "a size is {}", size);
        dims.push_back(size);
      } else if (m.tag() == 3) {
        unknown_rank = m.integer() != 0;
      } else {
        m.skip();
      }
    }
    if (unknown_rank) return std::nullopt;
    check(dims.size() <= static_cast<std::size_t>(kMaxRank), ErrorKind::Shape,
          "rank {} is above the limit of {}", dims.size(), kMaxRank);
    return dims;
  });
}

Tensor parse_tensor(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  return wire::decode("TensorProto", [&] {
    const TensorProto p = read_tensor(bytes);
    const DType dtype = dtype_of_tf(p.dtype);
    check(!is_complex(dtype), ErrorKind::Unsupported, "complex constants are not supported");
    const auto dims = parse_shape(p.shape);
    check(dims.has_value(), ErrorKind::Parse, "a constant has no rank");
    Shape shape;
    for (std::int64_t d : *dims) shape.push_back(d);
    if (p.content.empty()) {
      // What the file leaves out it does not pay for: bound it.
      check(shape.elements() <= (std::int64_t{1} << 28), ErrorKind::Memory,
            "a constant of shape {} is not stored in full", shape.str());
      Tensor t(dtype, shape);
      fill_any(t, p);
      return t;
    }
    const auto expected = static_cast<std::size_t>(
        checked_mul(shape.elements(), static_cast<std::int64_t>(size_of(dtype))));
    check(dtype != DType::String && p.content.size() == expected, ErrorKind::Parse,
          "a constant {}{} has {} bytes, expected {}", name_of(dtype), shape.str(),
          p.content.size(), expected);
    const bool aligned = reinterpret_cast<std::uintptr_t>(p.content.data()) % size_of(dtype) == 0;
    if (aligned && dtype != DType::Bool) return Tensor(dtype, shape, p.content.data(), owner);
    Tensor t(dtype, shape);
    std::memcpy(t.mutable_data(), p.content.data(), expected);
    if (dtype == DType::Bool) {
      auto* raw = static_cast<std::uint8_t*>(t.mutable_data());
      for (std::size_t i = 0; i < expected; ++i) raw[i] = raw[i] != 0;
    }
    return t;
  });
}

}  // namespace treadle::tf
