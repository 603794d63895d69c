// Functions over rows of floats, one table of them per instruction set: what the elementwise,
// reducing, normalising and pooling kernels are made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_features.hpp"

namespace treadle::kernels {

enum class Fn1 : std::uint8_t {
#define TREADLE_FN1(name) name,
#include "kernels/math/functions.inc"
#undef TREADLE_FN1
  kCount,
};

enum class Fn2 : std::uint8_t {
#define TREADLE_FN2(name) name,
#include "kernels/math/functions.inc"
#undef TREADLE_FN2
  kCount,
};

enum class Fold : std::uint8_t {
#define TREADLE_FOLD(name) name,
#include "kernels/math/functions.inc"
#undef TREADLE_FOLD
  kCount,
};

inline constexpr std::size_t kFn1s = static_cast<std::size_t>(Fn1::kCount);
inline constexpr std::size_t kFn2s = static_cast<std::size_t>(Fn2::kCount);
inline constexpr std::size_t kFolds = static_cast<std::size_t>(Fold::kCount);

// The result may be an operand itself (the same address), never a shifted overlap. n may be 0.
// NaN propagates through every function, through Min and Max too.
//
// Errors against the exact value, for results that are normal numbers (docs: the test
// kernels_math_test states and checks them): Exp, Log, Tanh, Erf, Sigmoid, Elu, Softplus 4 ulp;
// Sin, Cos 2e-7 absolute (the C library beyond |x| = 8192); Gelu, GeluTanh, Silu, Mish 4 ulp of
// max(|y|, |x|/4). Polynomials are near-minimax fits made for this project (Lawson's iteration in
// f64); reductions of the argument follow Cody and Waite, Software Manual for the Elementary
// Functions (1980).
struct Rows {
  const char* name = nullptr;
  Isa isa = Isa::Generic;

  using Unary = void (*)(const float* x, float* y, std::int64_t n, float a, float b);
  using Binary = void (*)(const float* x, const float* y, float* out, std::int64_t n);
  Unary unary[kFn1s] = {};
  // Both operands rows; the second, or the first, is one value.
  Binary row_row[kFn2s] = {};
  Binary row_one[kFn2s] = {};
  Binary one_row[kFn2s] = {};

  // Folds a row to one value; of nothing: 0, 1 (Prod), −inf (Max), +inf (Min). Sums are kept in
  // many partial sums.
  float (*fold[kFolds])(const float* x, std::int64_t n) = {};
  // out[i] = fold over r < rows of x[r · stride + i], with out[i] itself folded in unless `first`.
  void (*fold_rows[kFolds])(const float* x, std::ptrdiff_t stride, std::int64_t rows, float* out,
                            std::int64_t n, bool first) = {};
  // y = exp(x − shift); returns Σ y.
  float (*exp_sum)(const float* x, float* y, std::int64_t n, float shift) = nullptr;
  // Σ (x − center)².
  float (*sum_square_about)(const float* x, std::int64_t n, float center) = nullptr;
  // y = (x − shift) · scale.
  void (*shift_scale)(const float* x, float* y, std::int64_t n, float shift, float scale) = nullptr;
  // out = x · a + y · b.
  void (*blend)(const float* x, const float* y, float* out, std::int64_t n, float a,
                float b) = nullptr;
  // out[i] = the largest of x[r · stride + i], r < rows, and, unless `first`, of out[i] itself.
  void (*max_u8)(const std::uint8_t* x, std::ptrdiff_t stride, std::int64_t rows, std::uint8_t* out,
                 std::int64_t n, bool first) = nullptr;
  void (*max_s8)(const std::int8_t* x, std::ptrdiff_t stride, std::int64_t rows, std::int8_t* out,
                 std::int64_t n, bool first) = nullptr;
  // y = low byte of clamp(round_half_even(x / scale) + zero, lo, hi), where lo to hi are at most
  // 256 values; NaN gives zero.
  void (*quantize)(const float* x, std::uint8_t* y, std::int64_t n, float scale, std::int32_t zero,
                   std::int32_t lo, std::int32_t hi) = nullptr;
  // y = (x − zero) · scale, of u8 and of s8.
  void (*dequantize_u8)(const std::uint8_t* x, float* y, std::int64_t n, float scale,
                        std::int32_t zero) = nullptr;
  void (*dequantize_s8)(const std::int8_t* x, float* y, std::int64_t n, float scale,
                        std::int32_t zero) = nullptr;
  // LSTM: h and c of n cells from the gates i, o, f, g before activation; c is updated in place.
  void (*lstm_cell)(const float* i, const float* o, const float* f, const float* g, float* c,
                    float* h, std::int64_t n) = nullptr;

  Unary operator[](Fn1 f) const { return unary[static_cast<std::size_t>(f)]; }
  Binary both(Fn2 f) const { return row_row[static_cast<std::size_t>(f)]; }
  Binary second_one(Fn2 f) const { return row_one[static_cast<std::size_t>(f)]; }
  Binary first_one(Fn2 f) const { return one_row[static_cast<std::size_t>(f)]; }
  auto folded(Fold f) const { return fold[static_cast<std::size_t>(f)]; }
  auto folded_rows(Fold f) const { return fold_rows[static_cast<std::size_t>(f)]; }
};

// The table for active_isa().
const Rows& rows();
// The table for one instruction set; null when it is not built in (the machine may still lack it).
const Rows* rows_for(Isa isa);

}  // namespace treadle::kernels
