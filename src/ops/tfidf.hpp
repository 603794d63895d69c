#pragma once

#include <memory>

#include "graph/operator.hpp"

namespace treadle::ops {

// Counts n-grams: x [C] or [N, C], i32, i64 or string → f32 [size] or [N, size]. An n-gram is a
// row of n elements that stand 1 … max_skip + 1 apart (all the same distance); n-gram i counts at
// indexes[i] of the output. The constructor throws Parse error when the parameters do not fit.
class TfIdf final : public Operator {
 public:
  enum class Weighting : std::uint8_t { Count, Presence, WeightedCount };
  struct Params {
    Weighting weighting = Weighting::Count;
    std::int64_t min_length = 1, max_length = 1, max_skip = 0;
    // The pool, an i64 or string vector, holds first all 1-grams, then all 2-grams, …; `starts`
    // says where each kind begins.
    Tensor pool;
    std::vector<std::int64_t> starts, indexes;
    // Of each output element, for the weightings other than Count; empty: 1.
    std::vector<double> weights;
  };
  explicit TfIdf(Params p);
  TREADLE_OPERATOR(TfIdf);

 private:
  struct Trie;
  void count_row(const std::vector<std::int64_t>& row, float* out) const;

  Params p_;
  std::int64_t size_ = 0;
  std::shared_ptr<const Trie> trie_;
};

}  // namespace treadle::ops
