// Every kernel of the list, compiled for CUDA (see cmake/cuda.cmake).
#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/all.hpp"

using namespace tk;

#define TK_ENTRY(...) TK_KERNEL(__VA_ARGS__)
#include "gpu/kernels/list.inc"
