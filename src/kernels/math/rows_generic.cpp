#include "kernels/math/rows-inl.hpp"

namespace treadle::kernels::generic {

Rows make() {
  return make_rows("generic", Isa::Generic);
}

}  // namespace treadle::kernels::generic
