#include "gpu/kernels/resize.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/resize.inc"
