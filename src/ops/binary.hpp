#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class BinaryFn : std::uint8_t {
  Add, Sub, Mul, Div /*integers: towards zero, by zero gives 0*/, Pow, FloorDiv, FloorMod /*sign of b*/,
  Fmod /*sign of a*/, Min, Max /*NaN wins*/, SquaredDifference, Atan2, PRelu /*a<0 ? a·b : a*/,
  And, Or, Xor, BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight,
  Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual,
};

std::string_view name_of(BinaryFn f);
constexpr bool is_comparison(BinaryFn f) { return f >= BinaryFn::Equal; }

// Inputs a and b of EQUAL RANK (importers add axes: see ops/build.hpp), broadcast axis by axis; same
// dtype, but for Pow, whose exponent may be any numeric dtype. Output: dtype of a, or Bool for
// comparisons. Integer overflow wraps.
class Binary final : public Operator {
 public:
  explicit Binary(BinaryFn f) : fn(f) {}
  BinaryFn fn;

  TREADLE_OPERATOR(Binary);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// Inputs condition (Bool), a, b of equal rank, broadcast; a and b of the same, any dtype.
class Select final : public Operator {
 public:
  TREADLE_OPERATOR(Select);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
