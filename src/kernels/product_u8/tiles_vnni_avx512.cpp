#include "kernels/product_u8/tile-inl.hpp"
#include "kernels/product_u8/vec_avx512.hpp"

namespace treadle::kernels::avx512 {
namespace {

struct Vnni : RegistersU8 {
  using Weights = __m512i;
  using Values = __m512i;
  static Weights weights(const std::int8_t* p) { return _mm512_loadu_si512(p); }
  static Values values(std::uint32_t quad, Reg flip) {
    return _mm512_xor_si512(flip, _mm512_set1_epi32(static_cast<int>(quad)));
  }
  static Reg dot(Reg sum, Values x, Weights w) { return _mm512_dpbusd_epi32(sum, x, w); }
  static Reg multiplied(Reg sum, Reg x, Reg w) { return _mm512_dpwssd_epi32(sum, x, w); }
};

}  // namespace

KernelsU8 tiles_u8_vnni() {
  KernelsU8 k{.name = "u8s8_6x64_avx512_vnni", .lanes = Vnni::kLanes, .main_vectors = 4};
  add_tiles_u8<Vnni, 1, 8>(k);
  add_tiles_u8<Vnni, 2, 8>(k);
  add_tiles_u8<Vnni, 3, 8>(k);
  add_tiles_u8<Vnni, 4, 6>(k);
  add_depthwise_u8<Vnni, 8>(k);
  return k;
}

}  // namespace treadle::kernels::avx512
