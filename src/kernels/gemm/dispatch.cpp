#include "kernels/gemm/dot.hpp"

namespace treadle::kernels {

#define TREADLE_DOT(space, make, set) \
  namespace space {                   \
  DotKernels make();                  \
  }
#include "kernels/gemm/table.inc"
#undef TREADLE_DOT

const DotKernels* dot_kernels_for(Isa isa) {
#define TREADLE_DOT(space, make, set)                \
  if (isa == Isa::set) {                             \
    static const DotKernels kernels = space::make(); \
    return &kernels;                                 \
  }
#include "kernels/gemm/table.inc"
#undef TREADLE_DOT
  return nullptr;
}

const DotKernels& dot_kernels() {
  const DotKernels* kernels = dot_kernels_for(active_isa());
  return kernels ? *kernels : *dot_kernels_for(Isa::Generic);
}

void finish_sums(const DotTile& t, const float* sums, int rows, int width) {
  for (int r = 0; r < rows; ++r) {
    float* c = t.c[r] + t.column;
    const float* residual = t.residual ? t.residual[r] + t.column : nullptr;
    for (std::int64_t j = 0; j < t.n; ++j) {
      float x = sums[r * width + j];
      if (t.add_c) x += c[j];
      if (t.bias) x += t.bias[j];
      if (residual && t.residual_before_act) x += residual[j];
      x = apply_act(t.act, x, t.act_a, t.act_b, t.slope ? t.slope[j] : 0.0f);
      if (residual && !t.residual_before_act) x += residual[j];
      c[j] = x;
    }
  }
}

}  // namespace treadle::kernels
