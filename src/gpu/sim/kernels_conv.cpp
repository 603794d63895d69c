#include "gpu/kernels/conv_direct.hpp"
#include "gpu/kernels/conv_gemm.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/conv.inc"
