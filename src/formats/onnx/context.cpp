#include "formats/onnx/context.hpp"

#include <optional>
#include <utility>

#include "base/error.hpp"

namespace treadle::onnx {

ImportContext::ImportContext(Import& import, Scope& scope, const NodeProto& proto,
                             std::int64_t opset)
    : import_(import), scope_(scope), proto_(proto), opset_(opset) {
  name_ = scope.prefix + std::string(name_of(proto));
  for (std::size_t i = 0; i < proto.inputs.size(); ++i) {
    const std::string_view in = proto.inputs[i];
    ValueId value;
    if (!in.empty()) {
      const Binding* b = scope.find(in);
      check(b != nullptr, ErrorKind::Parse, "input {} is '{}', which nothing defines", i, in);
      if (b->poisoned) throw Poisoned{};
      value = b->value;
    }
    inputs_.push_back(value);
  }
  while (!inputs_.empty() && !inputs_.back().present()) inputs_.pop_back();
  outputs_ = proto.outputs.size();
  while (outputs_ > 0 && proto.outputs[outputs_ - 1].empty()) --outputs_;
}

bool ImportContext::wants_output(std::size_t i) const {
  return i < proto_.outputs.size() && !proto_.outputs[i].empty();
}

ValueId ImportContext::in(std::size_t i) const {
  check(has(i), ErrorKind::Parse, "input {} is required, but not given", i);
  return inputs_[i];
}

const Attribute* ImportContext::attribute(std::string_view attr) const {
  for (const Attribute& a : proto_.attributes) {
    if (a.name == attr) return &a;
  }
  return nullptr;
}

const Attribute* ImportContext::typed(std::string_view attr, int type) const {
  const Attribute* a = attribute(attr);
  check(a == nullptr || a->type == type, ErrorKind::Parse,
        "attribute '{}' must be of type {}, got {}", attr, attribute_type_name(type),
        attribute_type_name(a ? a->type : 0));
  return a;
}

std::int64_t ImportContext::int_attr(std::string_view attr,
                                     std::optional<std::int64_t> fallback) const {
  if (const Attribute* a = typed(attr, kInt)) return a->i;
  check(fallback.has_value(), ErrorKind::Parse, "attribute '{}' (int) is required", attr);
  return *fallback;
}

double ImportContext::float_attr(std::string_view attr, std::optional<double> fallback) const {
  if (const Attribute* a = typed(attr, kFloat)) return static_cast<double>(a->f);
  check(fallback.has_value(), ErrorKind::Parse, "attribute '{}' (float) is required", attr);
  return *fallback;
}

std::string ImportContext::string_attr(std::string_view attr,
                                       std::optional<std::string> fallback) const {
  if (const Attribute* a = typed(attr, kString)) return std::string(a->s);
  check(fallback.has_value(), ErrorKind::Parse, "attribute '{}' (string) is required", attr);
  return *std::move(fallback);
}

std::optional<std::vector<std::int64_t>> ImportContext::ints_attr(std::string_view attr) const {
  const Attribute* a = typed(attr, kInts);
  if (!a) return std::nullopt;
  return a->ints;
}

std::optional<std::vector<double>> ImportContext::floats_attr(std::string_view attr) const {
  const Attribute* a = typed(attr, kFloats);
  if (!a) return std::nullopt;
  return std::vector<double>(a->floats.begin(), a->floats.end());
}

std::optional<std::vector<std::string>> ImportContext::strings_attr(std::string_view attr) const {
  const Attribute* a = typed(attr, kStrings);
  if (!a) return std::nullopt;
  return std::vector<std::string>(a->strings.begin(), a->strings.end());
}

std::optional<Tensor> ImportContext::tensor_attr(std::string_view attr) const {
  const Attribute* a = attribute(attr);
  if (!a) return std::nullopt;
  return in_context([&] { return fmt::format("attribute '{}'", attr); },
                    [&]() -> std::optional<Tensor> {
                      if (a->type == kSparseTensor) {
                        return *import_.tensors().read_sparse(a->sparse_tensor).tensor;
                      }
                      check(a->type == kTensor, ErrorKind::Parse, "must be of type tensor, got {}",
                            attribute_type_name(a->type));
                      return *import_.tensors().read(a->tensor).tensor;
                    });
}

std::optional<Fact> ImportContext::type_attr(std::string_view attr) {
  const Attribute* a = typed(attr, kTypeProto);
  if (!a) return std::nullopt;
  return import_.fact_of(parse_type(a->type_proto), graph(), name_);
}

Tensor ImportContext::required_constant(std::size_t i) {
  auto value = constant(i);
  check(value.has_value() || !has(i), ErrorKind::Unsupported,
        "input {} '{}' must be a constant, but is computed at run time", i, proto_.inputs[i]);
  return *value;
}

std::string ImportContext::fresh_name() {
  const int n = names_++;
  return n == 0 ? name_ : name_ + "/" + std::to_string(n);
}

std::string_view ImportContext::graph_attr(std::string_view attr) const {
  const Attribute* a = typed(attr, kGraph);
  check(a != nullptr, ErrorKind::Parse, "attribute '{}' (graph) is required", attr);
  return a->graph;
}

Body ImportContext::body(std::string_view attr, std::span<const Fact> formal) {
  return import_.body(scope_, proto_, name_ + "." + std::string(attr), graph_attr(attr), formal);
}

std::optional<Body> ImportContext::try_body(std::string_view attr, std::span<const Fact> formal,
                                            std::optional<Error>& why) {
  const bool before = std::exchange(import_.keep_going_, false);
  std::optional<Body> result;
  try {
    result = body(attr, formal);
  } catch (const Error& e) {
    import_.keep_going_ = before;
    if (e.kind() != ErrorKind::Shape) throw;
    why = e;
  } catch (...) {
    import_.keep_going_ = before;
    throw;
  }
  import_.keep_going_ = before;
  return result;
}

std::vector<ValueId> ImportContext::inline_body(std::string_view attr,
                                                std::span<const ValueId> inputs) {
  return import_.inline_body(scope_, name_ + "/", graph_attr(attr), inputs);
}

std::pair<std::size_t, std::size_t> ImportContext::body_arity(std::string_view attr) {
  const GraphProto& g = import_.graphs().get(graph_attr(attr)).proto;
  return {g.inputs.size(), g.outputs.size()};
}

std::vector<Fact> ImportContext::body_output_facts(std::string_view attr) {
  std::vector<Fact> facts;
  for (const ValueInfo& v : import_.graphs().get(graph_attr(attr)).proto.outputs) {
    in_context([&] { return fmt::format("output '{}' of '{}'", v.name, attr); },
               [&] { facts.push_back(import_.fact_of(v.type, graph(), v.name)); });
  }
  return facts;
}

std::optional<std::vector<std::int64_t>> NodeContext::constant_ints(std::size_t i) {
  const auto value = constant(i);
  if (!value) return std::nullopt;
  return value->to_i64();
}

}  // namespace treadle::onnx
