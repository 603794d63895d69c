#include "gpu/kernels/gather.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/gather.inc"
