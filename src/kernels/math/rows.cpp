#include "kernels/math/rows.hpp"

namespace treadle::kernels {

#define TREADLE_ROWS(space, set) \
  namespace space {              \
  Rows make();                   \
  }
#include "kernels/math/table.inc"
#undef TREADLE_ROWS

const Rows* rows_for(Isa isa) {
#define TREADLE_ROWS(space, set)             \
  if (isa == Isa::set) {                     \
    static const Rows table = space::make(); \
    return &table;                           \
  }
#include "kernels/math/table.inc"
#undef TREADLE_ROWS
  return nullptr;
}

const Rows& rows() {
  const Rows* table = rows_for(active_isa());
  return table ? *table : *rows_for(Isa::Generic);
}

}  // namespace treadle::kernels
