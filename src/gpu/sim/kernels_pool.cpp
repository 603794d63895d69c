#include "gpu/kernels/pool.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/pool.inc"
