#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class CumulativeFn : std::uint8_t { Sum, Prod };

// Running sum or product along an axis: from the end with `reverse`; without the element itself
// (starting from 0 or 1) when `exclusive`. Inputs x, and where `axis` is nullopt the axis (one
// integer). f16/bf16 accumulate in f32; integers wrap.
class Cumulative final : public Operator {
 public:
  CumulativeFn fn = CumulativeFn::Sum;
  std::optional<std::int64_t> axis;
  bool exclusive = false;
  bool reverse = false;

  TREADLE_OPERATOR(Cumulative);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
