#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// exp(x − max) / Σ exp(x − max) over `axes` together (sorted, non-negative), or its logarithm.
class Softmax final : public Operator {
 public:
  Softmax(std::vector<std::int64_t> over, bool logarithm) : axes(std::move(over)), log(logarithm) {}
  std::vector<std::int64_t> axes;
  bool log;

  TREADLE_OPERATOR(Softmax);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
