// The operators' functions as steps of the elementwise kernels.
#pragma once

#include "ops/binary.hpp"
#include "ops/unary.hpp"

namespace treadle::gpu {

// Of tk::ElementwiseOp.
int unary_code(ops::UnaryFn fn);
// f(accumulator, operand), or with `swapped` f(operand, accumulator); −1 where there is none.
int binary_code(ops::BinaryFn fn, bool swapped);
// The function leaves integers as they are.
bool keeps_integers(ops::UnaryFn fn);

}  // namespace treadle::gpu
