#include "gpu/kernels/norm.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/norm.inc"
