#include "gpu/kernels/softmax.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/softmax.inc"
