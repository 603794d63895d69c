#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// y = (x − mean) / sqrt(var + epsilon) over `axes` together (LayerNorm, InstanceNorm), or without
// `center` y = x / sqrt(mean(x²) + epsilon) (RMSNorm). var is the biased one. Scale and bias are
// Binary operators around it. Computed in f32 (f64 for f64).
class Norm final : public Operator {
 public:
  Norm(std::vector<std::int64_t> over, double eps, bool subtract_mean)
      : axes(std::move(over)), epsilon(eps), center(subtract_mean) {}
  std::vector<std::int64_t> axes;
  double epsilon;
  bool center;

  TREADLE_OPERATOR(Norm);
  Cost cost(InputFacts in, std::span<const Fact> out) const override;
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

// Local response normalisation across channels (axis `axis`): y = x / (bias + alpha/size·Σ x²)^beta
// over the window of `size` channels, floor((size−1)/2) before and ceil((size−1)/2) after.
class Lrn final : public Operator {
 public:
  std::int64_t axis = 1, size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1;

  TREADLE_OPERATOR(Lrn);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
