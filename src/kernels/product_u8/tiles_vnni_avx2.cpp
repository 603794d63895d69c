#include "kernels/product_u8/tile-inl.hpp"
#include "kernels/product_u8/vec_avx2.hpp"

namespace treadle::kernels::avx2 {
namespace {

struct Vnni : RegistersU8 {
  using Weights = __m256i;
  using Values = __m256i;
  static Weights weights(const std::int8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Values values(std::uint32_t quad, Reg flip) {
    return _mm256_xor_si256(flip, _mm256_set1_epi32(static_cast<int>(quad)));
  }
  static Reg dot(Reg sum, Values x, Weights w) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
  static Reg multiplied(Reg sum, Reg x, Reg w) { return _mm256_dpwssd_avx_epi32(sum, x, w); }
};

}  // namespace

KernelsU8 tiles_u8_vnni() {
  KernelsU8 k{.name = "u8s8_6x16_avx_vnni", .lanes = Vnni::kLanes, .main_vectors = 2};
  add_tiles_u8<Vnni, 1, 8>(k);
  add_tiles_u8<Vnni, 2, 6>(k);
  add_depthwise_u8<Vnni, 8>(k);
  return k;
}

}  // namespace treadle::kernels::avx2
