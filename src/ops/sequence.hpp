// Sequences and optionals. Positions count from the end when negative, as in ONNX. Where a result's
// type does not follow from the inputs' (sizes that vary by element), the operator is given it.
#pragma once

#include <vector>

#include "graph/operator.hpp"

namespace treadle::ops {

// A sequence of the inputs (values of one kind and dtype), none or more of them. `element` is the
// type of the elements.
class SequenceConstruct final : public Operator {
 public:
  explicit SequenceConstruct(Fact e) : element(std::move(e)) {}
  Fact element;
  TREADLE_OPERATOR(SequenceConstruct);
};

// Inputs: sequence, position (an integer of one element). Output: the element, of type `fact`.
class SequenceAt final : public Operator {
 public:
  explicit SequenceAt(Fact f) : fact(std::move(f)) {}
  Fact fact;
  TREADLE_OPERATOR(SequenceAt);
};

// Inputs: sequence, value, optional position (default: at the end). `element` is the type of the
// elements of the result.
class SequenceInsert final : public Operator {
 public:
  explicit SequenceInsert(Fact e) : element(std::move(e)) {}
  Fact element;
  TREADLE_OPERATOR(SequenceInsert);
};

// Inputs: sequence, optional position (default: the last).
class SequenceErase final : public Operator {
 public:
  TREADLE_OPERATOR(SequenceErase);
};

// Input: sequence. Output: its length, an i64 scalar.
class SequenceLength final : public Operator {
 public:
  TREADLE_OPERATOR(SequenceLength);
};

// Inputs: tensor, optional split (an integer scalar: the size of each part, the last may be
// smaller; or a vector of sizes; default: parts of 1). Without a split and with `keep_dims` false
// the axis is removed. `element` is the type of the parts.
class SplitToSequence final : public Operator {
 public:
  SplitToSequence(std::int64_t a, bool keep, Fact e)
      : axis(a), keep_dims(keep), element(std::move(e)) {}
  std::int64_t axis;  // non-negative
  bool keep_dims;
  Fact element;
  TREADLE_OPERATOR(SplitToSequence);
};

// Input: sequence of tensors. Output: them joined on `axis` (non-negative), a new one when
// `new_axis`; its type is `fact`.
class ConcatFromSequence final : public Operator {
 public:
  ConcatFromSequence(std::int64_t a, bool n, Fact f) : axis(a), new_axis(n), fact(std::move(f)) {}
  std::int64_t axis;
  bool new_axis;
  Fact fact;
  TREADLE_OPERATOR(ConcatFromSequence);
};

// Input: a value, or none for an empty optional. `element` is the type inside.
class OptionalConstruct final : public Operator {
 public:
  explicit OptionalConstruct(Fact e) : element(std::move(e)) {}
  Fact element;
  TREADLE_OPERATOR(OptionalConstruct);
};

// Input: an optional, another value (which is there), or none. Output: a Bool scalar.
class OptionalHasElement final : public Operator {
 public:
  TREADLE_OPERATOR(OptionalHasElement);
};

// Input: an optional that is not empty. Output: what it holds, of type `fact`.
class OptionalGetElement final : public Operator {
 public:
  explicit OptionalGetElement(Fact f) : fact(std::move(f)) {}
  Fact fact;
  TREADLE_OPERATOR(OptionalGetElement);
};

}  // namespace treadle::ops
