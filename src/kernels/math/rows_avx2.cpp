#if defined(__x86_64__)
#include "kernels/math/rows-inl.hpp"

namespace treadle::kernels::avx2 {

Rows make() {
  return make_rows("avx2", Isa::Avx2);
}

}  // namespace treadle::kernels::avx2
#endif
