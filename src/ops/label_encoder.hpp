#pragma once

#include <memory>

#include "graph/operator.hpp"

namespace treadle::ops {

// Each element of x replaced by values[i] where keys[i] equals it (the last such i; a NaN equals
// any NaN), and by `fallback` where none does. keys and values are vectors of one length, keys of
// x's dtype; fallback has one element of the values' dtype, or none: then an element that is no key
// is a Shape error. Integers, floats and strings. The constructor throws Parse error when they do
// not fit.
class LabelEncoder final : public Operator {
 public:
  LabelEncoder(Tensor k, Tensor v, Tensor f);
  Tensor keys, values, fallback;
  TREADLE_OPERATOR(LabelEncoder);

 private:
  struct Places;
  std::shared_ptr<const Places> places_;
};

}  // namespace treadle::ops
