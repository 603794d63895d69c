#include "kernels/simd/vec_neon.hpp"

#if defined(__ARM_NEON)

#include "kernels/gemm/dot_tile-inl.hpp"

namespace treadle::kernels::neon {

DotKernels dot_6x16() {
  DotKernels k{.name = "dot_f32_6x16_neon",
               .isa = Isa::Neon,
               .lanes = Neon::kLanes,
               .main_vectors = 4,
               .max_vectors = 4,
               .k_block = 256};
  add_tiles<Neon, 1, 8>(k);
  add_tiles<Neon, 2, 8>(k);
  add_tiles<Neon, 3, 8>(k);
  add_tiles<Neon, 4, 6>(k);
  return k;
}

}  // namespace treadle::kernels::neon

#endif
