// Elementwise functions with broadcasting, and chains of them, by interpreting a small program.
#pragma once

#include "gpu/dialect/dialect.hpp"
#include "gpu/kernels/elementwise_params.hpp"

namespace tk {

TK_FN float tk_sigmoid(float x) {
  return 1.0f / (1.0f + tk_exp(-x));
}
TK_FN float tk_gelu(float x) {
  return 0.5f * x * (1.0f + tk_erf(x * 0.70710678118654752f));
}
TK_FN float tk_gelu_tanh(float x) {
  return 0.5f * x * (1.0f + tk_tanh(0.79788456080286536f * (x + 0.044715f * x * x * x)));
}
TK_FN float tk_hard_sigmoid(float x, float a, float b) {
  return tk_max(0.0f, tk_min(1.0f, a * x + b));
}
TK_FN float tk_softplus(float x) {
  return x > 0.0f ? x + tk_log1p(tk_exp(-x)) : tk_log1p(tk_exp(x));
}

// r = f(r, y, z) for the steps of vector kernels, `kOpSave` aside. x, u, w name an element of each.
template <int V>
TK_FN void tk_vector_step(int op, TK_LOCAL tk_vec<V>& r, TK_LOCAL const tk_vec<V>& y,
                          TK_LOCAL const tk_vec<V>& z, float a, float b) {
#define TK_CASE(op, expression)             \
  case op:                                  \
    TK_UNROLL for (int i = 0; i < V; ++i) { \
      const float x = r.v[i];               \
      const float u = y.v[i];               \
      r.v[i] = (expression);                \
      (void)x;                              \
      (void)u;                              \
    }                                       \
    break;
  switch (op) {
    TK_CASE(kOpTake, u)
    TK_CASE(kOpAdd, x + u)
    TK_CASE(kOpSub, x - u)
    TK_CASE(kOpSubFrom, u - x)
    TK_CASE(kOpMul, x * u)
    TK_CASE(kOpDiv, x / u)
    TK_CASE(kOpDivInto, u / x)
    TK_CASE(kOpMin, tk_min(x, u))
    TK_CASE(kOpMax, tk_max(x, u))
    TK_CASE(kOpSquaredDifference, (x - u) * (x - u))
    TK_CASE(kOpPRelu, x < 0.0f ? x * u : x)
    TK_CASE(kOpSelect, x != 0.0f ? u : z.v[i])
    TK_CASE(kOpAbs, tk_abs(x))
    TK_CASE(kOpNeg, -x)
    TK_CASE(kOpReciprocal, 1.0f / x)
    TK_CASE(kOpSqrt, tk_sqrt(x))
    TK_CASE(kOpRsqrt, 1.0f / tk_sqrt(x))
    TK_CASE(kOpSquare, x * x)
    TK_CASE(kOpExp, tk_exp(x))
    TK_CASE(kOpTanh, tk_tanh(x))
    TK_CASE(kOpErf, tk_erf(x))
    TK_CASE(kOpRelu, x < 0.0f ? 0.0f : x)
    TK_CASE(kOpLeakyRelu, x < 0.0f ? a * x : x)
    TK_CASE(kOpSigmoid, tk_sigmoid(x))
    TK_CASE(kOpHardSigmoid, tk_hard_sigmoid(x, a, b))
    TK_CASE(kOpHardSwish, x * tk_max(0.0f, tk_min(1.0f, x / 6.0f + 0.5f)))
    TK_CASE(kOpSilu, x / (1.0f + tk_exp(-a * x)))
    TK_CASE(kOpGelu, tk_gelu(x))
    TK_CASE(kOpGeluTanh, tk_gelu_tanh(x))
    TK_CASE(kOpClip, tk_min(tk_max(x, a), b))
    default:
      break;
  }
#undef TK_CASE
}

TK_FN float tk_floor_mod(float x, float y) {
  const float r = tk_fmod(x, y);
  if (r == 0.0f) return tk_float(tk_bits(y) & 0x80000000u);
  return (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
TK_FN float tk_flag(bool v) {
  return v ? 1.0f : 0.0f;
}

// The steps that no vector kernel has.
TK_FN float tk_float_step(int op, float x, float y, float a, float b) {
  switch (op) {
    case kOpSign:
      return x != x ? x : float(int(x > 0.0f) - int(x < 0.0f));
    case kOpFloor:
      return tk_floor(x);
    case kOpCeil:
      return tk_ceil(x);
    case kOpRound:
      return tk_rint(x);
    case kOpLog:
      return tk_log(x);
    case kOpSin:
      return tk_sin(x);
    case kOpCos:
      return tk_cos(x);
    case kOpTan:
      return tk_tan(x);
    case kOpAsin:
      return tk_asin(x);
    case kOpAcos:
      return tk_acos(x);
    case kOpAtan:
      return tk_atan(x);
    case kOpSinh:
      return tk_sinh(x);
    case kOpCosh:
      return tk_cosh(x);
    case kOpAsinh:
      return tk_asinh(x);
    case kOpAcosh:
      return tk_acosh(x);
    case kOpAtanh:
      return tk_atanh(x);
    case kOpElu:
      return x < 0.0f ? a * tk_expm1(x) : x;
    case kOpSelu:
      return b * (x < 0.0f ? a * tk_expm1(x) : x);
    case kOpCelu:
      return x < 0.0f ? a * tk_expm1(x / a) : x;
    case kOpSoftplus:
      return tk_softplus(x);
    case kOpSoftsign:
      return x / (1.0f + tk_abs(x));
    case kOpMish:
      return x * tk_tanh(tk_softplus(x));
    case kOpThresholdedRelu:
      return x > a ? x : 0.0f;
    case kOpShrink:
      return x < -b ? x + a : x > b ? x - a : 0.0f;
    case kOpNot:
      return tk_flag(x == 0.0f);
    case kOpIsNaN:
      return tk_flag(x != x);
    case kOpIsInf:
      return tk_flag(tk_abs(x) == tk_inf() && (x > 0.0f ? a != 0.0f : b != 0.0f));
    case kOpPow:
      return tk_pow(x, y);
    case kOpFloorDiv:
      return tk_floor(x / y);
    case kOpFloorMod:
      return tk_floor_mod(x, y);
    case kOpFmod:
      return tk_fmod(x, y);
    case kOpEqual:
      return tk_flag(x == y);
    case kOpNotEqual:
      return tk_flag(x != y);
    case kOpLess:
      return tk_flag(x < y);
    case kOpLessEqual:
      return tk_flag(x <= y);
    case kOpGreater:
      return tk_flag(x > y);
    case kOpGreaterEqual:
      return tk_flag(x >= y);
    default:
      return x;
  }
}

// Integers wrap; a division by 0 gives 0.
TK_FN tk_i64 tk_wrap_sub(tk_i64 x, tk_i64 y) {
  return tk_i64(tk_u64(x) - tk_u64(y));
}
TK_FN tk_i64 tk_wrap_mul(tk_i64 x, tk_i64 y) {
  return tk_i64(tk_u64(x) * tk_u64(y));
}
TK_FN tk_i64 tk_int_div(tk_i64 x, tk_i64 y) {
  return y == 0 ? 0 : y == -1 ? tk_wrap_sub(0, x) : x / y;
}
TK_FN tk_i64 tk_int_mod(tk_i64 x, tk_i64 y) {
  return y == 0 || y == -1 ? 0 : x % y;
}
TK_FN tk_i64 tk_int_floor_div(tk_i64 x, tk_i64 y) {
  const tk_i64 q = tk_int_div(x, y), r = tk_int_mod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? q - 1 : q;
}
TK_FN tk_i64 tk_int_floor_mod(tk_i64 x, tk_i64 y) {
  const tk_i64 r = tk_int_mod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

TK_FN tk_i64 tk_int_step(int op, tk_i64 x, tk_i64 y, tk_i64 z) {
  switch (op) {
    case kOpTake:
      return y;
    case kOpAdd:
      return tk_i64(tk_u64(x) + tk_u64(y));
    case kOpSub:
      return tk_wrap_sub(x, y);
    case kOpSubFrom:
      return tk_wrap_sub(y, x);
    case kOpMul:
      return tk_wrap_mul(x, y);
    case kOpDiv:
      return tk_int_div(x, y);
    case kOpDivInto:
      return tk_int_div(y, x);
    case kOpMin:
      return x < y ? x : y;
    case kOpMax:
      return x > y ? x : y;
    case kOpSquaredDifference:
      return tk_wrap_mul(tk_wrap_sub(x, y), tk_wrap_sub(x, y));
    case kOpPRelu:
      return x < 0 ? tk_wrap_mul(x, y) : x;
    case kOpSelect:
      return x != 0 ? y : z;
    case kOpAbs:
      return x < 0 ? tk_wrap_sub(0, x) : x;
    case kOpNeg:
      return tk_wrap_sub(0, x);
    case kOpSquare:
      return tk_wrap_mul(x, x);
    case kOpRelu:
      return x < 0 ? 0 : x;
    case kOpSign:
      return tk_i64(x > 0) - tk_i64(x < 0);
    case kOpNot:
      return tk_i64(x == 0);
    case kOpBitwiseNot:
      return ~x;
    case kOpFloorDiv:
      return tk_int_floor_div(x, y);
    case kOpFloorMod:
      return tk_int_floor_mod(x, y);
    case kOpFmod:
      return tk_int_mod(x, y);
    case kOpAnd:
      return x & y;
    case kOpOr:
      return x | y;
    case kOpXor:
      return x ^ y;
    case kOpEqual:
      return tk_i64(x == y);
    case kOpNotEqual:
      return tk_i64(x != y);
    case kOpLess:
      return tk_i64(x < y);
    case kOpLessEqual:
      return tk_i64(x <= y);
    case kOpGreater:
      return tk_i64(x > y);
    case kOpGreaterEqual:
      return tk_i64(x >= y);
    default:
      return x;
  }
}

// Truncates, saturates, NaN gives 0.
TK_FN tk_i64 tk_to_int(float v) {
  if (v != v) return 0;
  if (v >= 9223372036854775808.0f) return 0x7fffffffffffffff;
  if (v <= -9223372036854775808.0f) return -0x7fffffffffffffff - 1;
  return tk_i64(v);
}
TK_FN tk_i64 tk_clamp(tk_i64 v, tk_i64 low, tk_i64 high) {
  return v < low ? low : v > high ? high : v;
}

TK_FN tk_i64 tk_load_int(TK_GLOBAL const tk_u8* p, int type, tk_i64 i) {
  switch (type) {
    case kTypeBool:
      return tk_i64(p[i] != 0);
    case kTypeI8:
      return ((TK_GLOBAL const tk_i8*)p)[i];
    case kTypeI16:
      return ((TK_GLOBAL const tk_i16*)p)[i];
    case kTypeI32:
      return ((TK_GLOBAL const tk_i32*)p)[i];
    case kTypeU8:
      return p[i];
    case kTypeU16:
      return ((TK_GLOBAL const tk_u16*)p)[i];
    case kTypeU32:
      return ((TK_GLOBAL const tk_u32*)p)[i];
    default:
      return ((TK_GLOBAL const tk_i64*)p)[i];
  }
}
TK_FN float tk_load_float(TK_GLOBAL const tk_u8* p, int type, tk_i64 i) {
  switch (type) {
    case kTypeF16:
      return tk_load((TK_GLOBAL const tk_half*)p + i);
    case kTypeBF16:
      return tk_load((TK_GLOBAL const tk_bf16*)p + i);
    case kTypeF32:
      return ((TK_GLOBAL const float*)p)[i];
    default:
      return float(tk_load_int(p, type, i));
  }
}
TK_FN void tk_store_int(TK_GLOBAL tk_u8* p, int type, tk_i64 i, tk_i64 v) {
  switch (type) {
    case kTypeBool:
      p[i] = tk_u8(v != 0);
      break;
    case kTypeI8:
    case kTypeU8:
      p[i] = tk_u8(v & 0xff);
      break;
    case kTypeI16:
    case kTypeU16:
      ((TK_GLOBAL tk_u16*)p)[i] = tk_u16(v & 0xffff);
      break;
    case kTypeI32:
    case kTypeU32:
      ((TK_GLOBAL tk_u32*)p)[i] = tk_u32(v & 0xffffffff);
      break;
    case kTypeF16:
      tk_store((TK_GLOBAL tk_half*)p + i, float(v));
      break;
    case kTypeBF16:
      tk_store((TK_GLOBAL tk_bf16*)p + i, float(v));
      break;
    case kTypeF32:
      ((TK_GLOBAL float*)p)[i] = float(v);
      break;
    default:
      ((TK_GLOBAL tk_i64*)p)[i] = v;
      break;
  }
}
TK_FN void tk_store_float(TK_GLOBAL tk_u8* p, int type, tk_i64 i, float v) {
  switch (type) {
    case kTypeF16:
      tk_store((TK_GLOBAL tk_half*)p + i, v);
      break;
    case kTypeBF16:
      tk_store((TK_GLOBAL tk_bf16*)p + i, v);
      break;
    case kTypeF32:
      ((TK_GLOBAL float*)p)[i] = v;
      break;
    case kTypeBool:
      p[i] = tk_u8(v != 0.0f);
      break;
    case kTypeI8:
      tk_store_int(p, type, i, tk_clamp(tk_to_int(v), -128, 127));
      break;
    case kTypeI16:
      tk_store_int(p, type, i, tk_clamp(tk_to_int(v), -32768, 32767));
      break;
    case kTypeI32:
      tk_store_int(p, type, i, tk_clamp(tk_to_int(v), -0x7fffffff - 1, 0x7fffffff));
      break;
    case kTypeU8:
      tk_store_int(p, type, i, tk_clamp(tk_to_int(v), 0, 0xff));
      break;
    case kTypeU16:
      tk_store_int(p, type, i, tk_clamp(tk_to_int(v), 0, 0xffff));
      break;
    case kTypeU32:
      tk_store_int(p, type, i, tk_clamp(tk_to_int(v), 0, 0xffffffff));
      break;
    default:
      tk_store_int(p, type, i, tk_to_int(v));
      break;
  }
}

// Where element i of each input and of the output is, with axis 0 counted in vectors of `width`.
TK_FN void tk_elementwise_places(TK_PARAM ElementwiseParams& p, int i, int width,
                                 TK_LOCAL tk_i64 (&at)[kElementwiseInputs + 1]) {
  int place[kElementwiseInputs + 1];
  TK_UNROLL for (int k = 0; k <= kElementwiseInputs; ++k) place[k] = 0;
  TK_UNROLL for (int axis = 0; axis < kElementwiseAxes; ++axis) {
    if (axis < p.rank) {
      const int rest = tk_div(i, p.size[axis]);
      const int index = (i - rest * int(p.size[axis].divisor)) * (axis == 0 ? width : 1);
      TK_UNROLL for (int k = 0; k <= kElementwiseInputs; ++k) place[k] += index * p.stride[k][axis];
      i = rest;
    }
  }
  TK_UNROLL for (int k = 0; k <= kElementwiseInputs; ++k) at[k] = p.base[k] + place[k];
}

// A vector of an input whose innermost stride is 1, or one element for all when it is 0.
template <class T, int V>
TK_FN void tk_elementwise_load(TK_GLOBAL const T* x, tk_i64 at, int stride, TK_LOCAL tk_vec<V>& r) {
  if (stride == 0) {
    tk_fill_vec(tk_load(x + at), r);
  } else {
    tk_load_vec(x + at, r);
  }
}

// V elements of axis 0 a thread; each input's stride there is 0 or 1, the output's is 1.
template <class T, int V>
TK_FN void elementwise(TK_CTX c, TK_GLOBAL const T* x0, TK_GLOBAL const T* x1,
                       TK_GLOBAL const T* x2, TK_GLOBAL const T* x3, TK_GLOBAL T* to,
                       TK_PARAM ElementwiseParams& p, TK_SHARED tk_no_shared&) {
  const tk_u32 first = c.bid.x * c.bdim.x + c.tid.x;
  if (first >= tk_u32(p.count)) return;
  tk_i64 at[kElementwiseInputs + 1];
  tk_elementwise_places(p, int(first), V, at);
  tk_vec<V> in0, in1, in2, in3, saved;
  tk_fill_vec(0.0f, in1);
  tk_fill_vec(0.0f, in2);
  tk_fill_vec(0.0f, in3);
  tk_fill_vec(0.0f, saved);
  tk_elementwise_load(x0, at[0], p.stride[0][0], in0);
  if (p.inputs > 1) tk_elementwise_load(x1, at[1], p.stride[1][0], in1);
  if (p.inputs > 2) tk_elementwise_load(x2, at[2], p.stride[2][0], in2);
  if (p.inputs > 3) tk_elementwise_load(x3, at[3], p.stride[3][0], in3);
  tk_vec<V> r = in0;
  TK_NO_UNROLL for (int s = 0; s < p.steps; ++s) {
    const tk_u32 code = p.step[s].code;
    const tk_u32 first_operand = (code >> 8) & 0xffu, second = (code >> 16) & 0xffu;
    const float a = p.step[s].a;
    tk_vec<V> y, z;
    TK_UNROLL for (int i = 0; i < V; ++i) {
      y.v[i] = first_operand == 0u   ? in0.v[i]
               : first_operand == 1u ? in1.v[i]
               : first_operand == 2u ? in2.v[i]
               : first_operand == 3u ? in3.v[i]
               : first_operand == 4u ? saved.v[i]
                                     : a;
      z.v[i] = second == 0u   ? in0.v[i]
               : second == 1u ? in1.v[i]
               : second == 2u ? in2.v[i]
               : second == 3u ? in3.v[i]
                              : saved.v[i];
    }
    if ((code & 0xffu) == tk_u32(kOpSave)) {
      TK_UNROLL for (int i = 0; i < V; ++i) saved.v[i] = r.v[i];
    } else {
      tk_vector_step(int(code & 0xffu), r, y, z, a, p.step[s].b);
    }
  }
  tk_store_vec(to + at[kElementwiseInputs], r);
}

// What the one-element kernels compute in: float or tk_i64.
template <class R>
struct tk_arithmetic;
template <>
struct tk_arithmetic<float> {
  static TK_FN float load(TK_GLOBAL const tk_u8* p, int type, tk_i64 i) {
    return tk_load_float(p, type, i);
  }
  static TK_FN void store(TK_GLOBAL tk_u8* p, int type, tk_i64 i, float v) {
    tk_store_float(p, type, i, v);
  }
  static TK_FN float step(int op, float x, float y, float z, float a, float b) {
    if (op >= kOpVectorEnd) return tk_float_step(op, x, y, a, b);
    tk_vec<1> r, u, w;
    r.v[0] = x;
    u.v[0] = y;
    w.v[0] = z;
    tk_vector_step(op, r, u, w, a, b);
    return r.v[0];
  }
};
template <>
struct tk_arithmetic<tk_i64> {
  static TK_FN tk_i64 load(TK_GLOBAL const tk_u8* p, int type, tk_i64 i) {
    return tk_load_int(p, type, i);
  }
  static TK_FN void store(TK_GLOBAL tk_u8* p, int type, tk_i64 i, tk_i64 v) {
    tk_store_int(p, type, i, v);
  }
  static TK_FN tk_i64 step(int op, tk_i64 x, tk_i64 y, tk_i64 z, float, float) {
    return tk_int_step(op, x, y, z);
  }
};

// One element a thread, of any types (p.type) and strides; R: tk_i64 where no input is a float.
template <class R>
TK_FN void elementwise_any(TK_CTX c, TK_GLOBAL const tk_u8* x0, TK_GLOBAL const tk_u8* x1,
                           TK_GLOBAL const tk_u8* x2, TK_GLOBAL const tk_u8* x3,
                           TK_GLOBAL tk_u8* to, TK_PARAM ElementwiseParams& p,
                           TK_SHARED tk_no_shared&) {
  const tk_u32 first = c.bid.x * c.bdim.x + c.tid.x;
  if (first >= tk_u32(p.count)) return;
  tk_i64 at[kElementwiseInputs + 1];
  tk_elementwise_places(p, int(first), 1, at);
  const R in0 = tk_arithmetic<R>::load(x0, p.type[0], at[0]);
  R in1 = R(0), in2 = R(0), in3 = R(0), saved = R(0);
  if (p.inputs > 1) in1 = tk_arithmetic<R>::load(x1, p.type[1], at[1]);
  if (p.inputs > 2) in2 = tk_arithmetic<R>::load(x2, p.type[2], at[2]);
  if (p.inputs > 3) in3 = tk_arithmetic<R>::load(x3, p.type[3], at[3]);
  R r = in0;
  TK_NO_UNROLL for (int s = 0; s < p.steps; ++s) {
    const tk_u32 code = p.step[s].code;
    const int op = int(code & 0xffu);
    const tk_u32 a = (code >> 8) & 0xffu, b = (code >> 16) & 0xffu;
    const R y = a == 0u   ? in0
                : a == 1u ? in1
                : a == 2u ? in2
                : a == 3u ? in3
                : a == 4u ? saved
                          : R(p.step[s].a);
    const R z = b == 0u ? in0 : b == 1u ? in1 : b == 2u ? in2 : b == 3u ? in3 : saved;
    if (op == kOpSave) {
      saved = r;
    } else {
      r = tk_arithmetic<R>::step(op, r, y, z, p.step[s].a, p.step[s].b);
    }
  }
  tk_arithmetic<R>::store(to, p.type[kElementwiseInputs], at[kElementwiseInputs], r);
}

}  // namespace tk
