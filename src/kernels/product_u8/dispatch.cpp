#include "kernels/product_u8/tile.hpp"

namespace treadle::kernels {

#define TREADLE_U8(space, make, set, needs) \
  namespace space {                         \
  KernelsU8 make();                         \
  }
#include "kernels/product_u8/table.inc"
#undef TREADLE_U8

std::size_t all_kernels_u8(ChoiceU8 (&out)[kMaxChoicesU8]) {
  std::size_t count = 0;
#define TREADLE_U8(space, make, set, needs)             \
  {                                                     \
    static const KernelsU8 kernels = space::make();     \
    out[count++] = ChoiceU8{Isa::set, needs, &kernels}; \
  }
#include "kernels/product_u8/table.inc"
#undef TREADLE_U8
  return count;
}

const KernelsU8& kernels_u8() {
  ChoiceU8 choices[kMaxChoicesU8];
  const std::size_t count = all_kernels_u8(choices);
  const Isa isa = active_isa();
  for (const ChoiceU8& c : choices) {
    if (c.kernels && c.isa == isa && c.runs) return *c.kernels;
  }
  return *choices[count - 1].kernels;
}

}  // namespace treadle::kernels
