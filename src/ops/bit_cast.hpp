#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// The same bits as elements of another dtype of the same width. Bool: any non-zero byte is true.
class BitCast final : public Operator {
 public:
  explicit BitCast(DType dtype) : to(dtype) {}
  DType to;

  TREADLE_OPERATOR(BitCast);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
