#include "gpu/kernels/cumulative.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/cumulative.inc"
