#include "kernels/depthwise/kernel-inl.hpp"
#include "kernels/simd/vec_avx2.hpp"

namespace treadle::kernels::avx2 {

DepthwiseKernels depthwise() {
  return make_depthwise_kernels<Avx2>(Isa::Avx2);
}

}  // namespace treadle::kernels::avx2
