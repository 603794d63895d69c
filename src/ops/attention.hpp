#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Scaled dot-product attention. Inputs: q [B, Hq, S, D], k [B, Hkv, T, D], v [B, Hkv, T, Dv],
// optional mask of rank 4, added to the scores, each axis of size 1 or that of [B, Hq, S, T]; all
// of one float dtype. Query head h reads key and value head h / (Hq / Hkv). Output [B, Hq, S, Dv].
//
//   score(i, j) = softcap(scale · q_i·k_j) + mask(i, j),  softcap(s) = c·tanh(s / c) for c > 0
//   y_i = Σ_j softmax_j(score(i, j)) · v_j
//
// over the keys j with i + offset − left ≤ j ≤ i + offset + right, where a bound of −1 is none
// (causal attention: right = 0; offset: keys that precede the first query). A query that may read
// no key, or whose every mask is −inf, gives zeros. f16/bf16 are computed in f32.
class Attention final : public Operator {
 public:
  double scale = 1;
  double softcap = 0;  // 0: none
  std::int64_t left = -1, right = -1;
  Dim offset = 0;

  TREADLE_OPERATOR(Attention);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
};

}  // namespace treadle::ops
