#include "kernels/simd/vec_generic.hpp"
#include "kernels/winograd/kernel-inl.hpp"

namespace treadle::kernels::generic {

WinogradKernels winograd() {
  return {winograd_weights<Generic>, winograd_input<Generic>, winograd_output<Generic>};
}

}  // namespace treadle::kernels::generic
