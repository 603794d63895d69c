#include "kernels/depthwise/kernel-inl.hpp"
#include "kernels/simd/vec_avx512.hpp"

namespace treadle::kernels::avx512 {

DepthwiseKernels depthwise() {
  return make_depthwise_kernels<Avx512>(Isa::Avx512);
}

}  // namespace treadle::kernels::avx512
