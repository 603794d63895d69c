#include "gpu/kernels/reduce.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/reduce.inc"
