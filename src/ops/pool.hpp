#pragma once

#include "ops/spatial.hpp"

namespace treadle::ops {

enum class PoolKind : std::uint8_t { Max, Average, Lp };

// Input [N, C, spatial…] in `layout`. Max: NaN propagates; padding never wins; with `with_indices`
// a second output i64 holds the flat index (into the whole NCHW tensor) of each maximum
// (column-major over the spatial axes when storage_order is 1). Average: divides by the window's
// cells inside the input, or with count_include_pad inside the padded input (never those that
// ceil_mode adds beyond it). Lp: (Σ|x|^p)^(1/p). A window with no cell inside the input: Max the
// lowest value and index −1, Average and Lp 0. Float dtypes; Max integers too.
class Pool final : public Operator {
 public:
  PoolKind kind = PoolKind::Max;
  Layout layout = Layout::ChannelsFirst;
  std::vector<std::int64_t> kernel, strides, dilations;
  Padding padding;
  bool ceil_mode = false;
  bool count_include_pad = false;
  bool with_indices = false;
  std::int64_t storage_order = 0;
  std::int64_t p = 2;

  TREADLE_OPERATOR(Pool);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
};

}  // namespace treadle::ops
