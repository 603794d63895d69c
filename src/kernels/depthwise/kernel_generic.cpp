#include "kernels/depthwise/kernel-inl.hpp"
#include "kernels/simd/vec_generic.hpp"

namespace treadle::kernels::generic {

DepthwiseKernels depthwise() {
  return make_depthwise_kernels<Generic, 2>(Isa::Generic);
}

}  // namespace treadle::kernels::generic
