#include "kernels/block_product/kernel-inl.hpp"
#include "kernels/simd/vec_avx2.hpp"

namespace treadle::kernels::avx2 {
namespace {

struct Numbers : Avx2 {
  using Words = __m256i;
  static Words load_words(const std::uint32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Reg load_bytes(const std::int8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  template <int kBits>
  static Reg numbers(Words w, int shift) {
    return _mm256_cvtepi32_ps(
        _mm256_srai_epi32(_mm256_slli_epi32(w, 32 - kBits - shift), 32 - kBits));
  }
};

}  // namespace

BlockKernels block_product() {
  return make_block_kernels<Numbers, 4>(Isa::Avx2);
}

}  // namespace treadle::kernels::avx2
