#include "kernels/gemm/dot_tile-inl.hpp"
#include "kernels/simd/vec_generic.hpp"

namespace treadle::kernels::generic {

DotKernels dot_4x8() {
  DotKernels k{.name = "dot_f32_4x8_generic",
               .isa = Isa::Generic,
               .lanes = Generic::kLanes,
               .main_vectors = 2,
               .max_vectors = 2,
               .k_block = 256};
  add_tiles<Generic, 1, 4>(k);
  add_tiles<Generic, 2, 4>(k);
  return k;
}

}  // namespace treadle::kernels::generic
