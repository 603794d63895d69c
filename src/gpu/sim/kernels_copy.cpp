#include "gpu/kernels/copy.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/copy.inc"
