#include "gpu/kernels/attention_few.hpp"

using namespace tk;
#define TK_ENTRY TK_KERNEL
#include "gpu/kernels/attention.inc"
