#include "graph/fact.hpp"

#include "base/error.hpp"

namespace treadle {

Fact Fact::constant(Tensor value) {
  Fact f = tensor(value.dtype(), to_sym(value.shape()));
  f.value = std::make_shared<const Tensor>(std::move(value));
  return f;
}

Fact Fact::sequence(Fact element) {
  Fact f;
  f.kind = Kind::Sequence;
  f.dtype = element.dtype;
  f.element = std::make_shared<const Fact>(std::move(element));
  return f;
}

Fact Fact::optional(Fact element) {
  Fact f = sequence(std::move(element));
  f.kind = Kind::Optional;
  return f;
}

std::optional<std::vector<Dim>> Fact::symbolic() const {
  if (dims) return *dims;
  if (!value || !is_integer(dtype) || value->elements() > kMaxSymbolicElements) return std::nullopt;
  const auto ints = value->to_i64();
  return std::vector<Dim>(ints.begin(), ints.end());
}

std::string Fact::str() const {
  if (kind == Kind::Sequence) return "seq(" + element->str() + ")";
  if (kind == Kind::Optional) return "optional(" + element->str() + ")";
  std::string s = std::string(name_of(dtype)) + treadle::str(shape);
  if (dims) {
    s += "={";
    for (std::size_t i = 0; i < dims->size(); ++i) s += (i ? ", " : "") + (*dims)[i].str();
    s += "}";
  }
  return s;
}

bool Fact::same_type(const Fact& o) const {
  if (kind != o.kind || dtype != o.dtype) return false;
  if (kind == Kind::Tensor) return shape == o.shape;
  return element->same_type(*o.element);
}

}  // namespace treadle
