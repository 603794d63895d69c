#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// y = saturate(round_half_even(x / scale) + zero_point). Inputs x (float), scale (scalar, or 1-D along
// `axis`, or of x's rank with axis size / block_size), optional zero_point of the scale's shape.
// Output dtype `to`: i8, u8, i16, u16 or i32. Computed in f32; a NaN gives the zero point.
class QuantizeLinear final : public Operator {
 public:
  DType to = DType::U8;
  std::int64_t axis = 0;
  std::int64_t block_size = 0;
  TREADLE_OPERATOR(QuantizeLinear);
};

// y = (x − zero_point) · scale; the output's dtype is the scale's.
class DequantizeLinear final : public Operator {
 public:
  std::int64_t axis = 0;
  std::int64_t block_size = 0;
  TREADLE_OPERATOR(DequantizeLinear);
};

}  // namespace treadle::ops
