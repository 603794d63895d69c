#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs x and lengths (integer [size of batch_axis]): along time_axis the first lengths[b]
// elements of batch b are reversed, the rest stay.
class ReverseSequence final : public Operator {
 public:
  ReverseSequence(std::int64_t time, std::int64_t batch) : time_axis(time), batch_axis(batch) {}
  std::int64_t time_axis, batch_axis;
  TREADLE_OPERATOR(ReverseSequence);
};

}  // namespace treadle::ops
