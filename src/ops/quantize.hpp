#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// y = saturate(round_half_even(x / scale) + zero_point). Inputs x (float or i32), scale (scalar, or
// 1-D along `axis`, or of x's rank with axis size / block_size; float, i32 or f8e8m0), optional
// zero_point of the scale's shape. Output dtype `to`: i8, u8, i16, u16, i32, a narrow integer, or a
// narrow float but f8e8m0: those take x / scale + zero_point rounded by itself, beyond their range
// as `saturate` says. Computed in f32, where the quotient is rounded to `precision` when that is
// f16 or bf16; a NaN gives the zero point of an integer.
class QuantizeLinear final : public Operator {
 public:
  DType to = DType::U8;
  std::int64_t axis = 0;
  std::int64_t block_size = 0;
  bool saturate = true;
  DType precision = DType::F32;
  TREADLE_OPERATOR(QuantizeLinear);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// y = (x − zero_point) · scale in f32, rounded to `to`; x as QuantizeLinear gives it, scale f8e8m0
// or of a float dtype.
class DequantizeLinear final : public Operator {
 public:
  DType to = DType::F32;
  std::int64_t axis = 0;
  std::int64_t block_size = 0;
  TREADLE_OPERATOR(DequantizeLinear);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
