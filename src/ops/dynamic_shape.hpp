// Movement operators whose sizes are elements of a tensor that is known only at run time. The
// output shape given holds fresh symbols for the sizes that this operator introduces.
#pragma once

#include "ops/move.hpp"

namespace treadle::ops {

// Inputs x and target (integer, rank 1): ONNX Reshape.
class DynamicReshape final : public Operator {
 public:
  DynamicReshape(SymShape out, bool keep_zero) : sizes(std::move(out)), allow_zero(keep_zero) {}
  SymShape sizes;
  bool allow_zero;
  TREADLE_OPERATOR(DynamicReshape);
};

// Inputs x and shape (integer, rank 1): numpy broadcasting of x with the shape, ranks may differ.
class DynamicExpand final : public Operator {
 public:
  explicit DynamicExpand(SymShape out) : sizes(std::move(out)) {}
  SymShape sizes;
  TREADLE_OPERATOR(DynamicExpand);
};

// Inputs x and repeats (integer, one an axis).
class DynamicTile final : public Operator {
 public:
  explicit DynamicTile(SymShape out) : sizes(std::move(out)) {}
  SymShape sizes;
  TREADLE_OPERATOR(DynamicTile);
};

// Inputs x, pads (integer: befores, then afters), optional value, optional axes (integer).
class DynamicPad final : public Operator {
 public:
  DynamicPad(SymShape out, PadMode m) : sizes(std::move(out)), mode(m) {}
  SymShape sizes;
  PadMode mode;
  TREADLE_OPERATOR(DynamicPad);
};

}  // namespace treadle::ops
