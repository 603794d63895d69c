#include "kernels/gemm/dot_tile-inl.hpp"
#include "kernels/simd/vec_avx512.hpp"

namespace treadle::kernels::avx512 {

DotKernels dot_6x64() {
  DotKernels k{.name = "dot_f32_6x64_avx512",
               .isa = Isa::Avx512,
               .lanes = Avx512::kLanes,
               .main_vectors = 4,
               .max_vectors = 4,
               .k_block = 384};
  add_tiles<Avx512, 1, 8>(k);
  add_tiles<Avx512, 2, 8>(k);
  add_tiles<Avx512, 3, 8>(k);
  add_tiles<Avx512, 4, 6>(k);
  return k;
}

}  // namespace treadle::kernels::avx512
