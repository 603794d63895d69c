#include "ops/unify.hpp"

#include "base/error.hpp"

namespace treadle::ops {
namespace {

const Dim& any_mark() {
  static const Dim mark = Dim::symbol("any rank");
  return mark;
}

const Dim& none_mark() {
  static const Dim mark = Dim::symbol("no element");
  return mark;
}

bool is_mark(const Fact& f, const Dim& mark) {
  return f.shape.size() == 1 && f.shape[0] == mark;
}

bool hidden(const Dim& d, const SymbolNames* visible) {
  if (!visible || d.is_const()) return false;
  std::vector<std::string> names;
  d.collect_symbols(names);
  for (const std::string& n : names) {
    if (!visible->contains(n)) return true;
  }
  return false;
}

Fact unify_at(const Fact& a, const Fact& b, Graph& graph, const SymbolNames* visible,
              std::string_view what, bool inside) {
  check(a.kind == b.kind && a.dtype == b.dtype, ErrorKind::Type, "{} is {} or {}", what, a.str(),
        b.str());
  if (a.kind != Fact::Kind::Tensor) {
    Fact element = unify_at(*a.element, *b.element, graph, visible, what, true);
    return a.kind == Fact::Kind::Sequence ? Fact::sequence(std::move(element))
                                          : Fact::optional(std::move(element));
  }
  if (is_mark(a, any_mark()) || is_mark(b, any_mark())) {
    return Fact::tensor(a.dtype, unknown_shape());
  }
  if (is_mark(a, none_mark()) && is_mark(b, none_mark())) return Fact::tensor(a.dtype, no_shape());
  if (is_mark(a, none_mark())) return unify_at(b, b, graph, visible, what, inside);
  if (is_mark(b, none_mark())) return unify_at(a, a, graph, visible, what, inside);
  if (a.rank() != b.rank()) {
    check(inside, ErrorKind::Unsupported, "{} has different ranks: {} or {}", what, a.str(),
          b.str());
    return Fact::tensor(a.dtype, unknown_shape());
  }
  SymShape shape;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    const bool keep = a.shape[i] == b.shape[i] && !hidden(a.shape[i], visible);
    shape.push_back(keep ? a.shape[i] : graph.fresh_symbol(fmt::format("{}.{}", what, i)));
  }
  return Fact::tensor(a.dtype, std::move(shape));
}

}  // namespace

SymShape unknown_shape() {
  return {any_mark()};
}
SymShape no_shape() {
  return {none_mark()};
}

bool has_unknown_rank(const Fact& fact) {
  return fact.kind == Fact::Kind::Tensor &&
         (is_mark(fact, any_mark()) || is_mark(fact, none_mark()));
}

void collect_symbols(const Fact& fact, SymbolNames& out) {
  if (fact.kind != Fact::Kind::Tensor) {
    if (fact.element) collect_symbols(*fact.element, out);
    return;
  }
  std::vector<std::string> names;
  for (const Dim& d : fact.shape) d.collect_symbols(names);
  out.insert(names.begin(), names.end());
}

Fact type_only(const Fact& fact) {
  Fact f = fact;
  f.value = nullptr;
  f.dims = nullptr;
  return f;
}

Fact unify(const Fact& a, const Fact& b, Graph& graph, const SymbolNames* visible,
           std::string_view what) {
  return unify_at(a, b, graph, visible, what, false);
}

Fact outward(const Fact& fact, Graph& graph, const SymbolNames& visible, std::string_view what) {
  return unify_at(fact, fact, graph, &visible, what, false);
}

Fact independent(const Fact& fact, Graph& graph, std::string_view what) {
  const SymbolNames none;
  return unify_at(fact, fact, graph, &none, what, false);
}

}  // namespace treadle::ops
