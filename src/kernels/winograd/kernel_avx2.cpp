#include "kernels/simd/vec_avx2.hpp"
#include "kernels/winograd/kernel-inl.hpp"

namespace treadle::kernels::avx2 {

WinogradKernels winograd() {
  return {winograd_weights<Avx2>, winograd_input<Avx2>, winograd_output<Avx2>};
}

}  // namespace treadle::kernels::avx2
