// Products of 8-bit values: which nodes before and behind a Conv or Contract in i32 its kernel
// computes too.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/fuse.hpp"

namespace treadle::cpu {

// out = convert(clamp(f32(product(x - x_zero, w) + bias) * factor, low, high) [rounded, + zero]),
// the w a constant; where `factor` is empty the sums themselves.
struct IntegerProduct {
  std::size_t w_input = 1;  // of the producer
  ValueId x;                // u8 or i8
  std::int32_t x_zero = 0;
  ValueId x_zero_value;            // i32, one element, when it is not a constant
  std::vector<std::int32_t> bias;  // one a column, or empty
  std::vector<float> factor;       // the same
  float low = 0, high = 0;
  DType out = DType::I32;  // I32, F32, U8, I8
  std::int32_t zero = 0;
};

// Moves transposes and reshapes of widened 8-bit values in front of the widening, where products
// read them.
void widen_last(Graph& graph);

// Adds what the products absorb to the fusions. What comes before them is absorbed where nothing
// else reads it.
void find_integer_products(const Graph& graph, const std::vector<NodeId>& order, Fusions& fusions);

}  // namespace treadle::cpu
