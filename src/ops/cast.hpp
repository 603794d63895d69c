#pragma once

#include "base/narrow.hpp"
#include "graph/operator.hpp"

namespace treadle::ops {

// Converts elements. Float to integer truncates and saturates, NaN gives 0 (ONNX leaves both open;
// to a narrow integer it truncates and wraps, as the backend tests have it); integer to integer
// wraps; anything non-zero (NaN too) is true; to float rounds to nearest even (to narrow floats as
// `rounding` says); numbers to and from strings in the C locale.
class Cast final : public Operator {
 public:
  explicit Cast(DType dtype, NarrowRounding r = {}) : to(dtype), rounding(r) {}
  DType to;
  NarrowRounding rounding;

  TREADLE_OPERATOR(Cast);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// Converts the elements of `from` to those of `to` (as many; neither holds strings) as Cast does.
void convert_elements(const TensorView& from, const TensorView& to,
                      const NarrowRounding& rounding = {});

}  // namespace treadle::ops
