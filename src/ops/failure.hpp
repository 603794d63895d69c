#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"
#include "graph/operator.hpp"

namespace treadle::ops {

// Stands for a computation that cannot be done: `eval` throws the error, `infer` gives the facts.
// What a branch of an If holds that does not fit the sizes at hand; no fault while it is not taken.
struct Failure final : Operator {
  Failure() = default;
  Failure(Error why, std::vector<Fact> outputs)
      : error(std::move(why)), facts(std::move(outputs)) {}
  TREADLE_OPERATOR(Failure);
  bool pure() const override { return false; }

  Error error{ErrorKind::Shape, "a branch that cannot be taken"};
  std::vector<Fact> facts;
};

}  // namespace treadle::ops
