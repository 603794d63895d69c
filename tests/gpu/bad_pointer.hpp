// Refused: no matching function for call to 'first'
// A pointer without an address space takes global memory.
#include "gpu/dialect/dialect.hpp"

namespace tk {
struct BadParams {
  tk_i32 n;
};
struct BadShared {
  float v[32];
};
TK_FN float first(const float* p) { return p[0]; }
template <class T>
TK_FN void bad(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM BadParams&,
               TK_SHARED BadShared&) {
  y[c.tid.x] = first(x);
}
}  // namespace tk

TK_KERNEL(bad, bad, (float), BadParams, BadShared, sync, 32, TK_IN(float), TK_OUT(float))
