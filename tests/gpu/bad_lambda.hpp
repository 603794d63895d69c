// Refused: a lambda
// No lambdas.
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
  const auto twice = [](float v) { return v + v; };
  y[c.tid.x] = twice(x[c.tid.x]);
}
}  // namespace tk

TK_KERNEL(bad, bad, (float), BadParams, BadShared, sync, 32, TK_IN(float), TK_OUT(float))
