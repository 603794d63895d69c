// Refused: read-only variable is not assignable
// Inputs are constant.
#include "gpu/dialect/dialect.hpp"

namespace tk {
struct BadParams {
  tk_i32 n;
};
struct BadShared {
  float v[32];
};
template <class T>
TK_FN void bad(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM BadParams&,
               TK_SHARED BadShared&) {
  x[c.tid.x] = 1.0f;
  y[c.tid.x] = 1.0f;
}
}  // namespace tk

TK_KERNEL(bad, bad, (float), BadParams, BadShared, sync, 32, TK_IN(float), TK_OUT(float))
