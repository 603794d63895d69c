#include "gpu/kernels/depthwise_ring.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/depthwise.inc"
