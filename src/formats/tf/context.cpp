#include "formats/tf/importer.hpp"

#include "base/error.hpp"

namespace treadle::tf {

ValueId Builder::capture(ValueId from) {
  if (const auto known = captured_as.find(from); known != captured_as.end()) return known->second;
  const Fact& fact = outer->graph.fact(from);
  const std::string& name = outer->graph.value_name(from);
  ValueId here;
  if (fact.value) {
    here = graph.add_constant(name, fact.value);
  } else {
    here = graph.add_source(name, fact);
    captured.push_back(from);
  }
  captured_as.emplace(from, here);
  return here;
}

ValueId NodeContext::in(std::size_t i) const {
  check(i < inputs_.size(), ErrorKind::Parse, "input {} is missing, the node has {}", i,
        inputs_.size());
  return inputs_[i];
}

const AttrValue* NodeContext::attr(std::string_view key) const {
  const auto it = node_.attrs.find(key);
  return it == node_.attrs.end() || it->second.kind == AttrValue::Kind::None ? nullptr
                                                                             : &it->second;
}

std::int64_t NodeContext::int_attr(std::string_view key, std::int64_t fallback) const {
  const AttrValue* a = attr(key);
  if (!a) return fallback;
  check(a->kind == AttrValue::Kind::Int || a->kind == AttrValue::Kind::Bool, ErrorKind::Parse,
        "attribute '{}' is not a number", key);
  return a->i;
}

double NodeContext::float_attr(std::string_view key, double fallback) const {
  const AttrValue* a = attr(key);
  if (!a) return fallback;
  check(a->kind == AttrValue::Kind::Float, ErrorKind::Parse, "attribute '{}' is not a float", key);
  return a->f;
}

std::string NodeContext::string_attr(std::string_view key, std::string fallback) const {
  const AttrValue* a = attr(key);
  if (!a) return fallback;
  check(a->kind == AttrValue::Kind::Bytes, ErrorKind::Parse, "attribute '{}' is not a string", key);
  return std::string(a->s);
}

std::vector<std::int64_t> NodeContext::ints_attr(std::string_view key) const {
  const AttrValue* a = attr(key);
  if (!a) return {};
  check(a->kind == AttrValue::Kind::List, ErrorKind::Parse, "attribute '{}' is not a list", key);
  return a->ints;
}

DType NodeContext::type_attr(std::string_view key, DType fallback) const {
  const AttrValue* a = attr(key);
  if (!a) return fallback;
  check(a->kind == AttrValue::Kind::Type, ErrorKind::Parse, "attribute '{}' is not a data type",
        key);
  return dtype_of_tf(a->i);
}

Tensor NodeContext::tensor_attr(std::string_view key) const {
  const AttrValue* a = attr(key);
  check(a && a->kind == AttrValue::Kind::Tensor, ErrorKind::Parse, "attribute '{}' holds no tensor",
        key);
  return parse_tensor(a->s, owner_);
}

std::string_view NodeContext::function_attr(std::string_view key) const {
  const AttrValue* a = attr(key);
  check(a && a->kind == AttrValue::Kind::Function, ErrorKind::Parse,
        "attribute '{}' names no function", key);
  return a->s;
}

std::optional<std::vector<std::int64_t>> NodeContext::shape_attr(std::string_view key) const {
  const AttrValue* a = attr(key);
  if (!a) return std::nullopt;
  check(a->kind == AttrValue::Kind::Shape, ErrorKind::Parse, "attribute '{}' is no shape", key);
  return parse_shape(a->s);
}

std::vector<std::int64_t> NodeContext::constant_ints(std::size_t i) const {
  check(fact(i).value != nullptr, ErrorKind::Unsupported, "input {} must be a constant, got {}", i,
        fact(i).str());
  return fact(i).value->to_i64();
}

std::vector<Dim> NodeContext::symbolic(std::size_t i) const {
  auto dims = fact(i).symbolic();
  check(dims.has_value(), ErrorKind::Unsupported, "input {} must be known at import, got {}", i,
        fact(i).str());
  return *dims;
}

ops::Layout NodeContext::layout() const {
  const std::string format = string_attr("data_format", "NHWC");
  if (format == "NHWC" || format == "NDHWC" || format == "NWC") return ops::Layout::ChannelsLast;
  check(format == "NCHW" || format == "NCDHW" || format == "NCW", ErrorKind::Unsupported,
        "attribute 'data_format' is '{}', expected NHWC or NCHW", format);
  return ops::Layout::ChannelsFirst;
}

std::vector<std::int64_t> NodeContext::spatial_attr(std::string_view key, ops::Layout layout,
                                                    int rank) const {
  const auto all = ints_attr(key);
  const auto spatial = static_cast<std::size_t>(rank - 2);
  if (all.empty()) return std::vector<std::int64_t>(spatial, 1);
  check(all.size() == static_cast<std::size_t>(rank), ErrorKind::Parse,
        "attribute '{}' has {} entries, expected {}", key, all.size(), rank);
  const auto channel = static_cast<std::size_t>(ops::channel_axis(layout, rank));
  check(all[0] == 1 && all[channel] == 1, ErrorKind::Unsupported,
        "attribute '{}' is {} for the batch and {} for the channels, expected 1", key, all[0],
        all[channel]);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < spatial; ++i) {
    out.push_back(all[static_cast<std::size_t>(ops::spatial_axis(layout, static_cast<int>(i)))]);
  }
  return out;
}

ops::Padding NodeContext::padding(ops::Layout layout, int rank) const {
  ops::Padding p;
  const std::string mode = string_attr("padding", "VALID");
  if (mode == "SAME") {
    p.mode = ops::AutoPad::SameUpper;
  } else if (mode == "VALID") {
    p.mode = ops::AutoPad::Valid;
  } else {
    check(mode == "EXPLICIT", ErrorKind::Parse, "attribute 'padding' is '{}'", mode);
    const auto all = ints_attr("explicit_paddings");
    check(all.size() == 2 * static_cast<std::size_t>(rank), ErrorKind::Parse,
          "attribute 'explicit_paddings' has {} entries, expected {}", all.size(), 2 * rank);
    for (int i = 0; i < rank - 2; ++i) {
      const auto axis = static_cast<std::size_t>(ops::spatial_axis(layout, i));
      p.before.push_back(all[2 * axis]);
      p.after.push_back(all[2 * axis + 1]);
    }
  }
  return p;
}

ValueId NodeContext::unary(ops::UnaryFn fn, ValueId x, double a, double b) {
  return ops::unary(graph_, fresh_name(), fn, x, a, b);
}

ValueId NodeContext::binary(ops::BinaryFn fn, ValueId a, ValueId b) {
  return ops::binary(graph_, fresh_name(), fn, a, b);
}

ValueId NodeContext::select(ValueId condition, ValueId a, ValueId b) {
  return ops::select(graph_, fresh_name(), condition, a, b);
}

ValueId NodeContext::scalar(double value, ValueId like) {
  return ops::scalar_like(graph_, fresh_name(), value, like);
}

std::string NodeContext::fresh_name() {
  const int n = made_++;
  return n == 0 ? name_ : name_ + "/" + std::to_string(n);
}

}  // namespace treadle::tf
