#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class CumulativeFn : std::uint8_t { Sum, Prod };

// out[i] = sum (product) of x[0 … i] along `axis`; exclusive leaves x[i] out, reverse starts at the
// end. Numeric dtypes; f16 and bf16 accumulate in f32, f32 in f32, integers wrap.
class Cumulative final : public Operator {
 public:
  Cumulative(CumulativeFn f, std::int64_t along, bool leave_out = false, bool backwards = false)
      : fn(f), axis(along), exclusive(leave_out), reverse(backwards) {}
  CumulativeFn fn;
  std::int64_t axis;
  bool exclusive, reverse;
  TREADLE_OPERATOR(Cumulative);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
