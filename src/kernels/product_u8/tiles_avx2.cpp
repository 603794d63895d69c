#include "kernels/product_u8/tile-inl.hpp"
#include "kernels/product_u8/vec_avx2.hpp"

namespace treadle::kernels::avx2 {
namespace {

// Products of pairs of 16 bits, bytes 0 and 2 apart from 1 and 3: those of 8 bits would saturate.
struct Pairs : RegistersU8 {
  struct Halves {
    __m256i even, odd;
  };
  using Weights = Halves;
  using Values = Halves;
  static Weights weights(const std::int8_t* p) {
    const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {_mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8), _mm256_srai_epi16(w, 8)};
  }
  static Values values(std::uint32_t quad, Reg flip) {
    const __m256i x = _mm256_xor_si256(flip, _mm256_set1_epi32(static_cast<int>(quad)));
    return {_mm256_and_si256(x, _mm256_set1_epi32(0x00FF00FF)), _mm256_srli_epi16(x, 8)};
  }
  static Reg dot(Reg sum, Values x, Weights w) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x.even, w.even));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x.odd, w.odd));
  }
  static Reg multiplied(Reg sum, Reg x, Reg w) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
  }
};

}  // namespace

KernelsU8 tiles_u8() {
  KernelsU8 k{.name = "u8s8_4x16_avx2", .lanes = Pairs::kLanes, .main_vectors = 2};
  add_tiles_u8<Pairs, 1, 8>(k);
  add_tiles_u8<Pairs, 2, 4>(k);
  add_depthwise_u8<Pairs, 8>(k);
  return k;
}

}  // namespace treadle::kernels::avx2
