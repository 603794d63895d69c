#if defined(__x86_64__)
#include "kernels/math/rows-inl.hpp"

namespace treadle::kernels::avx512 {

Rows make() {
  return make_rows("avx512", Isa::Avx512);
}

}  // namespace treadle::kernels::avx512
#endif
