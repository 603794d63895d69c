#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class SampleMode : std::uint8_t { Linear, Nearest, Cubic };
enum class SamplePadding : std::uint8_t { Zeros, Border, Reflection };

// Inputs x [N, C, D1 … Dr] and grid [N, o1 … or, r] of float coordinates in [−1, 1], last spatial
// axis first: out [N, C, o1 … or]. −1 and 1 are the centres of the outer elements with
// align_corners, their outer edges otherwise. Nearest rounds half to even; cubic has a = −0.75.
class GridSample final : public Operator {
 public:
  SampleMode mode = SampleMode::Linear;
  SamplePadding padding = SamplePadding::Zeros;
  bool align_corners = false;
  TREADLE_OPERATOR(GridSample);
};

}  // namespace treadle::ops
