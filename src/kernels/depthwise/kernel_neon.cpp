#include "kernels/simd/vec_neon.hpp"

#if defined(__ARM_NEON)

#include "kernels/depthwise/kernel-inl.hpp"

namespace treadle::kernels::neon {

DepthwiseKernels depthwise() {
  return make_depthwise_kernels<Neon>(Isa::Neon);
}

}  // namespace treadle::kernels::neon

#endif
