// Operators that copy elements to other places. Any dtype.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Inputs (one or more) of equal rank joined along `axis`.
class Concat final : public Operator {
 public:
  explicit Concat(std::int64_t along) : axis(along) {}
  std::int64_t axis;
  TREADLE_OPERATOR(Concat);
  bool moves_elements() const override { return true; }
  bool is_moved_input(std::size_t) const override { return true; }
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// out[i] = in[start + i·step] along `axis`, `length` elements; start and length already resolved
// and clamped: 0 ≤ start < size for length > 0, start + (length−1)·step within the axis.
class Slice final : public Operator {
 public:
  Slice(std::int64_t along, Dim first, Dim count, std::int64_t by = 1)
      : axis(along), start(std::move(first)), length(std::move(count)), step(by) {}
  std::int64_t axis;
  Dim start, length;
  std::int64_t step;
  TREADLE_OPERATOR(Slice);
  bool moves_elements() const override { return true; }
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// ONNX Slice and TensorFlow StridedSlice with bounds that are known only at run time: inputs x,
// starts, ends, optional axes, optional steps (integer, 1-D). `sizes` are fresh symbols, one an
// axis of x whose output size is not known.
class DynamicSlice final : public Operator {
 public:
  explicit DynamicSlice(SymShape out) : sizes(std::move(out)) {}
  SymShape sizes;  // the output's shape
  TREADLE_OPERATOR(DynamicSlice);
};

enum class PadMode : std::uint8_t { Constant, Reflect, Edge, Wrap, Symmetric };
const char* name_of(PadMode m);

// Input x, optional scalar value (Constant mode; default zero). before/after one an axis; negative
// ones crop. Reflect pads at most size−1.
class Pad final : public Operator {
 public:
  PadMode mode = PadMode::Constant;
  SymShape before, after;
  TREADLE_OPERATOR(Pad);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// Inputs x, indices (integer, any rank; negative ones count from the end): out shape =
// x.shape[:axis] + indices.shape + x.shape[axis+1:]. An index out of range is an error.
class Gather final : public Operator {
 public:
  explicit Gather(std::int64_t along) : axis(along) {}
  std::int64_t axis;
  TREADLE_OPERATOR(Gather);
  bool moves_elements() const override { return true; }
};

// x repeated `repeats` times along each axis.
class Tile final : public Operator {
 public:
  explicit Tile(SymShape r) : repeats(std::move(r)) {}
  SymShape repeats;
  TREADLE_OPERATOR(Tile);
  bool moves_elements() const override { return true; }
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
