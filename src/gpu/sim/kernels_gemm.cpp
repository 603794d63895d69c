#include "gpu/kernels/gemm.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/gemm.inc"
