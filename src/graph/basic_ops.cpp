#include "graph/basic_ops.hpp"

#include "base/error.hpp"

namespace treadle {

void Source::visit(ParamVisitor&) const {}

std::vector<Fact> Source::infer(InputFacts) const {
  return {fact_};
}

void Source::eval(EvalContext&) const {
  fail(ErrorKind::Internal, "a graph input is not evaluated");
}

void Constant::visit(ParamVisitor& v) const {
  v.param("value", *value_);
}

std::vector<Fact> Constant::infer(InputFacts) const {
  Fact f = Fact::tensor(value_->dtype(), to_sym(value_->shape()));
  f.value = value_;
  return {f};
}

void Constant::eval(EvalContext& ctx) const {
  ctx.set_output(0, *value_);
}

}  // namespace treadle
