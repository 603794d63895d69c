#include "kernels/block_product/kernel-inl.hpp"
#include "kernels/simd/vec_avx512.hpp"

namespace treadle::kernels::avx512 {
namespace {

struct Numbers : Avx512 {
  using Words = __m512i;
  static Words load_words(const std::uint32_t* p) { return _mm512_loadu_si512(p); }
  static Reg load_bytes(const std::int8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  // A permutation looks at the lowest four bits of each index: a table of 16 needs no mask.
  template <int kBits>
  static Reg numbers(Words w, int shift) {
    if constexpr (kBits == 8) {
      return _mm512_cvtepi32_ps(
          _mm512_srai_epi32(_mm512_slli_epi32(w, static_cast<unsigned>(24 - shift)), 24));
    } else {
      const Reg table =
          kBits == 4 ? _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1)
                     : _mm512_setr_ps(0, 1, -2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1, -2, -1);
      return _mm512_permutexvar_ps(_mm512_srli_epi32(w, static_cast<unsigned>(shift)), table);
    }
  }
};

}  // namespace

BlockKernels block_product() {
  return make_block_kernels<Numbers, 8>(Isa::Avx512);
}

}  // namespace treadle::kernels::avx512
