#include "kernels/block_product/kernel-inl.hpp"
#include "kernels/simd/vec_generic.hpp"

namespace treadle::kernels::generic {
namespace {

struct Numbers : Generic {
  struct Words {
    std::uint32_t v[4];
  };
  static Words load_words(const std::uint32_t* p) { return Words{{p[0], p[1], p[2], p[3]}}; }
  static Reg load_bytes(const std::int8_t* p) {
    return map([&](int i) { return static_cast<float>(p[i]); });
  }
  template <int kBits>
  static Reg numbers(const Words& w, int shift) {
    return map([&](int i) {
      const auto top = static_cast<std::int32_t>(w.v[i] << (32 - kBits - shift));
      return static_cast<float>(top >> (32 - kBits));
    });
  }
};

}  // namespace

BlockKernels block_product() {
  return make_block_kernels<Numbers, 4>(Isa::Generic);
}

}  // namespace treadle::kernels::generic
