#include "kernels/simd/vec_neon.hpp"

#if defined(__ARM_NEON)

#include "kernels/winograd/kernel-inl.hpp"

namespace treadle::kernels::neon {

WinogradKernels winograd() {
  return {winograd_weights<Neon>, winograd_input<Neon>, winograd_output<Neon>};
}

}  // namespace treadle::kernels::neon

#endif
