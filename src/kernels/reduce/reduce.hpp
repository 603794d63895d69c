// Reductions in f32 over any axes, and the index of the largest or smallest element.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/shape.hpp"
#include "base/threads.hpp"
#include "kernels/math/rows.hpp"
#include "kernels/math/split.hpp"

namespace treadle::kernels {

enum class AfterFold : std::uint8_t { None, Mean /*divides by the count*/, Sqrt };

class BoundReduce {
 public:
  // `axes`: non-negative, below the rank. `table` outlives this.
  BoundReduce(Fold fold, AfterFold after, const Shape& in, std::span<const std::int64_t> axes,
              const Rows& table = rows());
  // y: the axes that stay, row-major.
  void run(const float* x, float* y, Parallel& parallel) const;

 private:
  struct Axis {
    std::int64_t size, stride;
  };
  void fold_elements(const float* x, float* y, std::int64_t begin, std::int64_t end) const;
  void fold_columns(const float* x, float* y, std::int64_t begin, std::int64_t end) const;
  void finish(float* y, std::int64_t n) const;

  const Rows& table_;
  Fold fold_;
  AfterFold after_;
  bool inner_kept_ = false;
  std::int64_t inner_ = 1;                           // size of the innermost group of axes
  std::vector<Axis> kept_, reduced_;                 // the other groups, outermost first
  std::int64_t kept_count_ = 1, reduced_count_ = 1;  // products of the sizes in them
  std::int64_t folded_ = 1;                          // elements folded into one
};

// y[o, i] = index l of the largest (smallest) x[o, l, i], the first or the last of equals; NaN
// counts as larger (smaller) than everything, or with skip_nan is passed over (0 where there is
// nothing else). length ≥ 1.
struct ArgRules {
  bool max = true, last = false, skip_nan = false;
};
void arg_reduce(const Rows& table, const Split& s, const ArgRules& rules, const float* x,
                std::int64_t* y, Parallel& parallel);

}  // namespace treadle::kernels
