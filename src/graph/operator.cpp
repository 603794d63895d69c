#include "graph/operator.hpp"

#include <bit>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/params.hpp"

namespace treadle {

const TensorView& EvalContext::in(std::size_t i) const {
  const TensorView* v = input(i);
  check(v != nullptr, ErrorKind::Internal, "input {} is missing", i);
  return *v;
}

void Operator::visit(ParamVisitor&) const {}

Cost Operator::cost(InputFacts, std::span<const Fact>) const {
  return {};
}

std::optional<AxisChange> Operator::change_axes(InputFacts, std::span<const Fact>,
                                                const Perm&) const {
  return std::nullopt;
}

OperatorPtr Operator::with_subgraphs(std::vector<std::shared_ptr<const Graph>>) const {
  fail(ErrorKind::Internal, "{} has no subgraphs", name());
}

std::string Operator::params_text() const {
  ParamPrinter p;
  visit(p);
  return p.text();
}

bool Operator::equals(const Operator& other) const {
  if (typeid(*this) != typeid(other)) return false;
  ParamEncoder a, b;
  visit(a);
  other.visit(b);
  return a.bytes() == b.bytes();
}

std::size_t Operator::hash() const {
  ParamEncoder e;
  visit(e);
  return std::hash<std::string>{}(e.bytes()) * 31 + std::hash<std::string_view>{}(name());
}

}  // namespace treadle
