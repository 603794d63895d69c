// The two operators that the graph itself knows.
#pragma once

#include "graph/operator.hpp"

namespace treadle {

// A graph input. No inputs, one output; never evaluated.
class Source final : public Operator {
 public:
  explicit Source(Fact fact) : fact_(std::move(fact)) {}
  TREADLE_OPERATOR(Source);
  bool pure() const override { return false; }

 private:
  Fact fact_;
};

// A constant; the elements may live in a mapped file.
class Constant final : public Operator {
 public:
  explicit Constant(std::shared_ptr<const Tensor> value) : value_(std::move(value)) {}
  TREADLE_OPERATOR(Constant);
  const std::shared_ptr<const Tensor>& value() const { return value_; }

 private:
  std::shared_ptr<const Tensor> value_;
};

}  // namespace treadle
