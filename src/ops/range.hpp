#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs start, limit, delta (one element each, same numeric dtype): start + i·delta for i below
// max(0, ceil((limit − start) / delta)). `length` is that count; with `fresh` it is a symbol that
// this operator introduces.
class Range final : public Operator {
 public:
  explicit Range(Dim count, bool fresh_size = false)
      : length(std::move(count)), fresh(fresh_size) {}
  Dim length;
  bool fresh;
  TREADLE_OPERATOR(Range);
};

// The length, when start, limit and a constant, non-zero delta are known; nullopt otherwise. Throws
// Shape error when delta is 0.
std::optional<Dim> range_length(const Fact& start, const Fact& limit, const Fact& delta);

}  // namespace treadle::ops
