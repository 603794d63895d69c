#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// No inputs; an integer tensor of constant `shape` whose row-major elements are expressions.
class SymbolicConstant final : public Operator {
 public:
  SymbolicConstant(std::vector<Dim> elements, DType t, SymShape s)
      : values(std::move(elements)), dtype(t), shape(std::move(s)) {}
  std::vector<Dim> values;
  DType dtype;
  SymShape shape;
  TREADLE_OPERATOR(SymbolicConstant);
};

}  // namespace treadle::ops
