#include "kernels/gemm/dot_tile-inl.hpp"
#include "kernels/simd/vec_avx2.hpp"

namespace treadle::kernels::avx2 {

DotKernels dot_6x16() {
  DotKernels k{.name = "dot_f32_6x16_avx2",
               .isa = Isa::Avx2,
               .lanes = Avx2::kLanes,
               .main_vectors = 2,
               .max_vectors = 3,
               .k_block = 256};
  add_tiles<Avx2, 1, 8>(k);
  add_tiles<Avx2, 2, 6>(k);
  add_tiles<Avx2, 3, 4>(k);
  return k;
}

}  // namespace treadle::kernels::avx2
