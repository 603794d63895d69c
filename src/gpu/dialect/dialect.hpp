// The kernel dialect: macros and functions in which a kernel is written once and compiled for CUDA,
// Metal, the lint and the host (sim). Read docs/adding-a-kernel.md first.
//
// Every front end defines
//   TK_FN                          before every function
//   TK_GLOBAL, TK_SHARED, TK_PARAM, TK_LOCAL   the address space of every pointer and reference
//   TK_CTX                         the type of the first parameter of kernels: who am I
//   TK_BARRIER(c)                  all threads of the group wait for each other; memory is visible
//   TK_UNROLL                      before a loop with constant bounds
//   TK_NO_UNROLL                   before a loop that must stay one, for the size of the code
//   TK_KERNEL(...)                 makes an entry of a line of the kernel list
//   tk_ctx                         tid, bid, bdim, gdim (x, y, z), lane (0..31), warp
//   tk_u32x2, tk_u32x4             .x .y .z .w, aligned to their size
//   tk_bits, tk_float              the bits of a float and back
//   tk_half_to_float, tk_float_to_half, tk_float_to_bf16   of 16 bits; rounded to nearest even
//   tk_fma                         one rounding
//   tk_clip(v, low, high)          the upper bound wins, as ONNX has it; NaN stays; the bounds are none
//   tk_exp, tk_log, tk_tanh, tk_erf, tk_sqrt, tk_sin, tk_cos, tk_tan, tk_asin, tk_acos, tk_atan,
//   tk_sinh, tk_cosh, tk_asinh, tk_acosh, tk_atanh, tk_pow, tk_floor, tk_ceil, tk_rint, tk_trunc,
//   tk_fmod
//   tk_mulhi                       upper half of a 32×32-bit product
//   tk_warp_xor(c, v, mask)        v of lane ^ mask
//   tk_warp_get(c, v, lane)        v of that lane
//   tk_warp_sum, tk_warp_max, tk_warp_min   over 32 lanes, as an xor tree 16, 8, 4, 2, 1: the same
//                                  bits on every device. float (all) and tk_i32 (xor, get)
//   tk_warp_barrier(c)             the lanes of a warp wait for each other; what they wrote to shared
//                                  memory is visible to them
//   tk_keep(i)                     an int that is kept rather than computed anew where it is used
//   tk_report_index(status, index, limit)   one of the reports of a launch is kept
//   tk_clip_halves(pair, low, high)   tk_clip of two f16 in a word, which are rounded already
//   tk_async_copy16(to, from, take)   16 bytes of global to shared memory, zeros unless `take`;
//                                  there after tk_async_commit(), tk_async_wait<0>() and a barrier
//                                  (of the warp, where only that reads it)
//   tk_async_commit(), tk_async_wait<n>()   waits for all but the last n commits of this thread
#pragma once

#include "gpu/dialect/types.hpp"

#define TK_UNWRAP(...) __VA_ARGS__
#define TK_CONCAT_(a, b) a##b
#define TK_CONCAT(a, b) TK_CONCAT_(a, b)
#define TK_COUNT(...) TK_COUNT_(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TK_COUNT_(a, b, c, d, e, f, g, h, i, n, ...) n
#define TK_EACH_1(F, a) F(0, a)
#define TK_EACH_2(F, a, b) TK_EACH_1(F, a) F(1, b)
#define TK_EACH_3(F, a, b, c) TK_EACH_2(F, a, b) F(2, c)
#define TK_EACH_4(F, a, b, c, d) TK_EACH_3(F, a, b, c) F(3, d)
#define TK_EACH_5(F, a, b, c, d, e) TK_EACH_4(F, a, b, c, d) F(4, e)
#define TK_EACH_6(F, a, b, c, d, e, f) TK_EACH_5(F, a, b, c, d, e) F(5, f)
#define TK_EACH_7(F, a, b, c, d, e, f, g) TK_EACH_6(F, a, b, c, d, e, f) F(6, g)
#define TK_EACH_8(F, a, b, c, d, e, f, g, h) TK_EACH_7(F, a, b, c, d, e, f, g) F(7, h)
#define TK_EACH_9(F, a, b, c, d, e, f, g, h, i) TK_EACH_8(F, a, b, c, d, e, f, g, h) F(8, i)
// F(0, first) F(1, second) …
#define TK_EACH(F, ...) TK_CONCAT(TK_EACH_, TK_COUNT(__VA_ARGS__))(F, __VA_ARGS__)

namespace tk {

// Of kernels without shared memory.
struct tk_no_shared {
  tk_u32 unused;
};

// 16-bit floats for storage: arithmetic is in float, by tk_load and tk_store.
struct tk_half {
  tk_u16 bits;
};
struct tk_bf16 {
  tk_u16 bits;
};

// Floats in registers; index with constants (unrolled loops) only.
template <int V>
struct tk_vec {
  float v[V];
};

}  // namespace tk

#if defined(__METAL_VERSION__)
#include "gpu/dialect/metal.hpp"
#elif defined(__CUDACC__)
#include "gpu/dialect/cuda.hpp"
#elif defined(__OPENCL_CPP_VERSION__)
#include "gpu/dialect/lint.hpp"
#else
#include "gpu/dialect/host.hpp"
#endif

#include "gpu/dialect/common.hpp"
