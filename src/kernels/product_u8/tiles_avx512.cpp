#include "kernels/product_u8/tile-inl.hpp"
#include "kernels/product_u8/vec_avx512.hpp"

namespace treadle::kernels::avx512 {
namespace {

// Products of pairs of 16 bits, bytes 0 and 2 apart from 1 and 3: those of 8 bits would saturate.
struct Pairs : RegistersU8 {
  struct Halves {
    __m512i even, odd;
  };
  using Weights = Halves;
  using Values = Halves;
  static Weights weights(const std::int8_t* p) {
    const __m512i w = _mm512_loadu_si512(p);
    return {_mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8), _mm512_srai_epi16(w, 8)};
  }
  static Values values(std::uint32_t quad, Reg flip) {
    const __m512i x = _mm512_xor_si512(flip, _mm512_set1_epi32(static_cast<int>(quad)));
    return {_mm512_and_si512(x, _mm512_set1_epi32(0x00FF00FF)), _mm512_srli_epi16(x, 8)};
  }
  static Reg dot(Reg sum, Values x, Weights w) {
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(x.even, w.even));
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x.odd, w.odd));
  }
  static Reg multiplied(Reg sum, Reg x, Reg w) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
  }
};

}  // namespace

KernelsU8 tiles_u8() {
  KernelsU8 k{.name = "u8s8_4x64_avx512", .lanes = Pairs::kLanes, .main_vectors = 4};
  add_tiles_u8<Pairs, 1, 8>(k);
  add_tiles_u8<Pairs, 2, 8>(k);
  add_tiles_u8<Pairs, 3, 5>(k);
  add_tiles_u8<Pairs, 4, 4>(k);
  add_depthwise_u8<Pairs, 8>(k);
  return k;
}

}  // namespace treadle::kernels::avx512
