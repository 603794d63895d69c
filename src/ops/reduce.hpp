#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class ReduceFn : std::uint8_t {
  Sum,
  Mean,
  Prod,
  Min,
  Max,
  SumSquare,
  L1,
  L2,
  LogSum,
  LogSumExp,
  Any,
  All,
};
std::string_view name_of(ReduceFn f);
// Reduces x to y, whose axes are those of x or of size 1.
void reduce_elements(ReduceFn fn, const TensorView& x, const TensorView& y);

// Reduces over `axes` (sorted, non-negative), which stay with size 1. Of nothing: Sum 0, Prod 1,
// Max −inf (lowest for integers), Min +inf, Mean NaN. NaN wins in Min and Max. f16/bf16 accumulate
// in f32.
class Reduce final : public Operator {
 public:
  Reduce(ReduceFn f, std::vector<std::int64_t> over) : fn(f), axes(std::move(over)) {}
  ReduceFn fn;
  std::vector<std::int64_t> axes;

  TREADLE_OPERATOR(Reduce);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// Index (i64) of the largest or smallest element along `axis`, which stays with size 1; the first,
// or with select_last the last, of equals. NaN wins; with skip_nan (not with select_last) it is
// passed over, as TensorFlow does, and 0 is the index where there is nothing else.
class ArgReduce final : public Operator {
 public:
  ArgReduce(bool is_max, std::int64_t along, bool last, bool without_nan = false)
      : max(is_max), axis(along), select_last(last), skip_nan(without_nan) {}
  bool max;
  std::int64_t axis;
  bool select_last;
  bool skip_nan;

  TREADLE_OPERATOR(ArgReduce);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
