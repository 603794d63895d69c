// Operators that rearrange axes and leave the elements alone. Any dtype.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Axis i of the output is axis perm[i] of the input.
class Transpose final : public Operator {
 public:
  explicit Transpose(Perm p) : perm(std::move(p)) {}
  Perm perm;
  TREADLE_OPERATOR(Transpose);
  bool moves_elements() const override { return true; }
};

// Row-major elements under another shape of as many elements. `shape` is the resolved target
// (no 0 or −1 placeholders; see reshape_target).
class Reshape final : public Operator {
 public:
  explicit Reshape(SymShape s) : shape(std::move(s)) {}
  SymShape shape;
  TREADLE_OPERATOR(Reshape);
  bool moves_elements() const override { return true; }
};

// Adds axes of size 1 so that they stand at `axes` (sorted, non-negative) of the output.
class Unsqueeze final : public Operator {
 public:
  explicit Unsqueeze(std::vector<std::int64_t> at) : axes(std::move(at)) {}
  std::vector<std::int64_t> axes;
  TREADLE_OPERATOR(Unsqueeze);
  bool moves_elements() const override { return true; }
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// Removes axes of size 1 (sorted, non-negative).
class Squeeze final : public Operator {
 public:
  explicit Squeeze(std::vector<std::int64_t> at) : axes(std::move(at)) {}
  std::vector<std::int64_t> axes;
  TREADLE_OPERATOR(Squeeze);
  bool moves_elements() const override { return true; }
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// Input to `shape` of equal rank, axes of size 1 repeated; other axes must agree.
class Expand final : public Operator {
 public:
  explicit Expand(SymShape s) : shape(std::move(s)) {}
  SymShape shape;
  TREADLE_OPERATOR(Expand);
  bool moves_elements() const override { return true; }
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// The resolved shape for ONNX Reshape's target: 0 copies the input's size (unless allow_zero), one
// −1 is inferred. Throws Shape error naming the target and the input's shape.
SymShape reshape_target(const SymShape& input, const std::vector<Dim>& target, bool allow_zero);

// The inverse of a permutation; the permutation that does `first`, then `second`.
Perm inverse(const Perm& p);
Perm compose(const Perm& first, const Perm& second);
bool is_identity(const Perm& p);

}  // namespace treadle::ops
