#include "kernels/simd/vec_avx512.hpp"
#include "kernels/winograd/kernel-inl.hpp"

namespace treadle::kernels::avx512 {

WinogradKernels winograd() {
  return {winograd_weights<Avx512>, winograd_input<Avx512>, winograd_output<Avx512>};
}

}  // namespace treadle::kernels::avx512
