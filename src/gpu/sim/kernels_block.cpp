#include "gpu/kernels/block.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/block.inc"
