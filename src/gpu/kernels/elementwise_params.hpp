// Parameters of the kernels of elementwise.hpp: a small program over an accumulator.
#pragma once

#include "gpu/dialect/types.hpp"

namespace tk {

enum { kElementwiseInputs = 4, kElementwiseAxes = 6, kElementwiseSteps = 12 };

// What a step's operand is: an input by its number, or
enum { kOperandSaved = 4, kOperandConstant = 5 };

// r is the accumulator, y the operand, z the second operand, a and b the step's constants.
enum ElementwiseOp {
  // Vector kernels have these.
  kOpSave,  // keeps r for kOperandSaved
  kOpTake,  // r = y
  kOpAdd,
  kOpSub,
  kOpSubFrom,  // y - r
  kOpMul,
  kOpDiv,
  kOpDivInto,  // y / r
  kOpMin,
  kOpMax,
  kOpSquaredDifference,
  kOpPRelu,   // r < 0 ? r y : r
  kOpSelect,  // r ? y : z
  kOpAbs,
  kOpNeg,
  kOpReciprocal,
  kOpSqrt,
  kOpRsqrt,
  kOpSquare,
  kOpExp,
  kOpTanh,
  kOpErf,
  kOpRelu,
  kOpLeakyRelu,
  kOpSigmoid,
  kOpHardSigmoid,
  kOpHardSwish,
  kOpSilu,
  kOpGelu,
  kOpGeluTanh,
  kOpClip,
  kOpVectorEnd,
  // One element a thread.
  kOpSign = kOpVectorEnd,
  kOpFloor,
  kOpCeil,
  kOpRound,
  kOpLog,
  kOpSin,
  kOpCos,
  kOpTan,
  kOpAsin,
  kOpAcos,
  kOpAtan,
  kOpSinh,
  kOpCosh,
  kOpAsinh,
  kOpAcosh,
  kOpAtanh,
  kOpElu,
  kOpSelu,
  kOpCelu,
  kOpSoftplus,
  kOpSoftsign,
  kOpMish,
  kOpThresholdedRelu,
  kOpShrink,
  kOpNot,
  kOpBitwiseNot,
  kOpIsNaN,
  kOpIsInf,
  kOpPow,
  kOpFloorDiv,
  kOpFloorMod,
  kOpFmod,
  kOpAnd,
  kOpOr,
  kOpXor,
  kOpEqual,
  kOpNotEqual,
  kOpLess,
  kOpLessEqual,
  kOpGreater,
  kOpGreaterEqual
};

// Numbers of element types, as treadle::DType has them.
enum ElementType {
  kTypeBool,
  kTypeI8,
  kTypeI16,
  kTypeI32,
  kTypeI64,
  kTypeU8,
  kTypeU16,
  kTypeU32,
  kTypeU64,
  kTypeF16,
  kTypeBF16,
  kTypeF32
};

struct ElementwiseStep {
  tk_u32 code;  // op | operand << 8 | second operand << 16
  float a, b;
};

// r starts as input 0 and ends as the output. Element i of `size` (axis 0 fastest) of input k is at
// base[k] + Σ i·stride[k]; the output is the last of `base` and `stride`.
struct ElementwiseParams {
  tk_i64 base[kElementwiseInputs + 1];
  tk_divisor size[kElementwiseAxes];
  tk_i32 stride[kElementwiseInputs + 1][kElementwiseAxes];
  tk_i32 type[kElementwiseInputs + 1];
  tk_i32 count, rank, inputs, steps, unused;
  ElementwiseStep step[kElementwiseSteps];
};
static_assert(sizeof(ElementwiseParams) == 40 + 72 + 120 + 20 + 20 + 144, "no padding");

}  // namespace tk
