#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// Attention by a state of fixed size, a matrix S [dk, dv] for each key head, that each position
// updates. Inputs q [B, T, H·dk], k [B, T, K·dk], v [B, T, K·dv], optional state [B, K, dk, dv]
// (default zeros), optional decay [B, T, K or K·dk], optional beta [B, T, K or 1]. Each step:
//   S ← exp(decay)·S (with decay); v ← beta·(v − Sᵀk) (with beta); S ← S + k vᵀ; y = scale·Sᵀq.
// Outputs: y [B, T, H·dv] and the last state. f16, bf16 and f32, computed in f32.
class LinearAttention final : public Operator {
 public:
  std::int64_t q_heads = 1, kv_heads = 1;
  double scale = 1;
  TREADLE_OPERATOR(LinearAttention);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
};

}  // namespace treadle::ops
