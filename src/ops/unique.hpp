#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// The distinct elements of the flattened x, or its distinct slices along `axis`, in ascending order
// (sorted; NaNs last, each distinct) or in order of first appearance. Outputs: them; for each the
// first position (i64 [count]); for each element or slice of x its place in output 0 (i64); for
// each how often it appears (i64 [count]). `count` is a symbol that this operator introduces.
class Unique final : public Operator {
 public:
  Unique(std::optional<std::int64_t> along, bool in_order, Dim n)
      : axis(along), sorted(in_order), count(std::move(n)) {}
  std::optional<std::int64_t> axis;
  bool sorted;
  Dim count;
  TREADLE_OPERATOR(Unique);
};

}  // namespace treadle::ops
