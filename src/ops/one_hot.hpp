#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs indices (integer), values ([off, on], any dtype) and with `fresh` the depth (one integer,
// then `depth` is a symbol that this operator introduces). A new axis of size depth at `axis` of
// the output holds `on` at the index (negative ones count from the end), `off` elsewhere; an index
// out of range gives `off` only.
class OneHot final : public Operator {
 public:
  OneHot(std::int64_t at, Dim size, bool fresh_size = false)
      : axis(at), depth(std::move(size)), fresh(fresh_size) {}
  std::int64_t axis;
  Dim depth;
  bool fresh;
  TREADLE_OPERATOR(OneHot);
};

}  // namespace treadle::ops
