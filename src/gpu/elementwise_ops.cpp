#include "gpu/elementwise_ops.hpp"

#include <cmath>

#include "gpu/elementwise_plan.hpp"
#include "gpu/kernels/elementwise_params.hpp"

namespace treadle::gpu {

namespace {

bool is_device_float(DType t) {
  return t == DType::F16 || t == DType::BF16 || t == DType::F32;
}
bool is_device_integer(DType t) {
  return is_integer(t) && t != DType::U64;
}

bool has_integers(ops::UnaryFn fn) {
  switch (fn) {
    case ops::UnaryFn::Abs:
    case ops::UnaryFn::Neg:
    case ops::UnaryFn::Sign:
    case ops::UnaryFn::Square:
    case ops::UnaryFn::Relu:
    case ops::UnaryFn::Clip:
    case ops::UnaryFn::BitwiseNot:
      return true;
    default:
      return keeps_integers(fn);
  }
}

// A whole number that a kernel's constant holds.
bool is_exact(double v) {
  return v == std::floor(v) && std::abs(v) <= 16777216.0;
}

bool is_bits(ops::BinaryFn fn) {
  return fn == ops::BinaryFn::BitAnd || fn == ops::BinaryFn::BitOr || fn == ops::BinaryFn::BitXor;
}
bool is_logic(ops::BinaryFn fn) {
  return fn == ops::BinaryFn::And || fn == ops::BinaryFn::Or || fn == ops::BinaryFn::Xor;
}

}  // namespace

bool keeps_integers(ops::UnaryFn fn) {
  return fn == ops::UnaryFn::Floor || fn == ops::UnaryFn::Ceil || fn == ops::UnaryFn::Round;
}

int unary_code(ops::UnaryFn fn) {
  switch (fn) {
#define TREADLE_UNARY(name) \
  case ops::UnaryFn::name:  \
    return tk::kOp##name;
    TREADLE_UNARY(Abs)
    TREADLE_UNARY(Neg)
    TREADLE_UNARY(Sign)
    TREADLE_UNARY(Reciprocal)
    TREADLE_UNARY(Floor)
    TREADLE_UNARY(Ceil)
    TREADLE_UNARY(Round)
    TREADLE_UNARY(Sqrt)
    TREADLE_UNARY(Rsqrt)
    TREADLE_UNARY(Square)
    TREADLE_UNARY(Exp)
    TREADLE_UNARY(Log)
    TREADLE_UNARY(Erf)
    TREADLE_UNARY(Sin)
    TREADLE_UNARY(Cos)
    TREADLE_UNARY(Tan)
    TREADLE_UNARY(Asin)
    TREADLE_UNARY(Acos)
    TREADLE_UNARY(Atan)
    TREADLE_UNARY(Sinh)
    TREADLE_UNARY(Cosh)
    TREADLE_UNARY(Tanh)
    TREADLE_UNARY(Asinh)
    TREADLE_UNARY(Acosh)
    TREADLE_UNARY(Atanh)
    TREADLE_UNARY(Relu)
    TREADLE_UNARY(LeakyRelu)
    TREADLE_UNARY(Elu)
    TREADLE_UNARY(Selu)
    TREADLE_UNARY(Celu)
    TREADLE_UNARY(Sigmoid)
    TREADLE_UNARY(HardSigmoid)
    TREADLE_UNARY(HardSwish)
    TREADLE_UNARY(Silu)
    TREADLE_UNARY(Softplus)
    TREADLE_UNARY(Softsign)
    TREADLE_UNARY(Mish)
    TREADLE_UNARY(Gelu)
    TREADLE_UNARY(GeluTanh)
    TREADLE_UNARY(ThresholdedRelu)
    TREADLE_UNARY(Shrink)
    TREADLE_UNARY(Clip)
    TREADLE_UNARY(Not)
    TREADLE_UNARY(BitwiseNot)
    TREADLE_UNARY(IsNaN)
    TREADLE_UNARY(IsInf)
#undef TREADLE_UNARY
  }
  return -1;
}

int binary_code(ops::BinaryFn fn, bool swapped) {
  using ops::BinaryFn;
  switch (fn) {
    case BinaryFn::Sub:
      return swapped ? tk::kOpSubFrom : tk::kOpSub;
    case BinaryFn::Div:
      return swapped ? tk::kOpDivInto : tk::kOpDiv;
    case BinaryFn::Less:
      return swapped ? tk::kOpGreater : tk::kOpLess;
    case BinaryFn::LessEqual:
      return swapped ? tk::kOpGreaterEqual : tk::kOpLessEqual;
    case BinaryFn::Greater:
      return swapped ? tk::kOpLess : tk::kOpGreater;
    case BinaryFn::GreaterEqual:
      return swapped ? tk::kOpLessEqual : tk::kOpGreaterEqual;
    case BinaryFn::Add:
      return tk::kOpAdd;
    case BinaryFn::Mul:
      return tk::kOpMul;
    case BinaryFn::Min:
      return tk::kOpMin;
    case BinaryFn::Max:
      return tk::kOpMax;
    case BinaryFn::SquaredDifference:
      return tk::kOpSquaredDifference;
    case BinaryFn::Equal:
      return tk::kOpEqual;
    case BinaryFn::NotEqual:
      return tk::kOpNotEqual;
    case BinaryFn::And:
    case BinaryFn::BitAnd:
      return tk::kOpAnd;
    case BinaryFn::Or:
    case BinaryFn::BitOr:
      return tk::kOpOr;
    case BinaryFn::Xor:
    case BinaryFn::BitXor:
      return tk::kOpXor;
    default:
      break;
  }
  if (swapped) return -1;
  switch (fn) {
    case BinaryFn::PRelu:
      return tk::kOpPRelu;
    case BinaryFn::Pow:
      return tk::kOpPow;
    case BinaryFn::FloorDiv:
      return tk::kOpFloorDiv;
    case BinaryFn::FloorMod:
      return tk::kOpFloorMod;
    case BinaryFn::Fmod:
      return tk::kOpFmod;
    default:
      return -1;
  }
}

std::string why_no_element(DType dtype) {
  if (is_device_float(dtype) || is_device_integer(dtype) || dtype == DType::Bool) return {};
  return fmt::format("no device kernel has elements of {}", name_of(dtype));
}

std::string why_no_unary(const ops::Unary& op, DType dtype) {
  const ops::UnaryFn fn = op.fn;
  bool has = false;
  if (is_device_float(dtype)) {
    has = fn != ops::UnaryFn::Not && fn != ops::UnaryFn::BitwiseNot;
  } else if (is_device_integer(dtype)) {
    has = has_integers(fn) && (fn != ops::UnaryFn::Clip || (is_exact(op.a) && is_exact(op.b)));
  } else if (dtype == DType::Bool) {
    has = fn == ops::UnaryFn::Not;
  }
  if (has) return {};
  return fmt::format("no device kernel computes {} of {}", name_of(fn), name_of(dtype));
}

std::string why_no_binary(ops::BinaryFn fn, DType dtype) {
  bool has = binary_code(fn, false) >= 0;
  if (is_device_float(dtype)) {
    has = has && !is_bits(fn) && !is_logic(fn);
  } else if (is_device_integer(dtype)) {
    has = has && !is_logic(fn) && fn != ops::BinaryFn::Pow;
  } else if (dtype == DType::Bool) {
    has = is_logic(fn) || ops::is_comparison(fn);
  } else {
    has = false;
  }
  if (has) return {};
  return fmt::format("no device kernel computes {} of {}", name_of(fn), name_of(dtype));
}

}  // namespace treadle::gpu
