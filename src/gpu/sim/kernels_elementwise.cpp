#include "gpu/kernels/elementwise.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/elementwise.inc"
