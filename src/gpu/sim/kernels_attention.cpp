#include "gpu/kernels/attention.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/attention.inc"
