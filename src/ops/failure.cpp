#include "ops/failure.hpp"

namespace treadle::ops {

void Failure::visit(ParamVisitor& v) const {
  std::vector<std::string> types;
  for (const Fact& f : facts) types.push_back(f.str());
  v.param("kind", name_of(error.kind()));
  v.param("error", error.what());
  v.param("facts", types);
}

std::vector<Fact> Failure::infer(InputFacts) const {
  return facts;
}

void Failure::eval(EvalContext&) const {
  throw Error(error);
}

}  // namespace treadle::ops
