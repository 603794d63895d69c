// What happens to a matrix or convolution result before it is stored: bias, residual, activation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace treadle::kernels {

// y(x), with the parameters a and b of Epilogue. NaN gives NaN in every one of them.
enum class Act : std::uint8_t {
  None,
  Relu,         // x < 0 ? 0 : x
  Clip,         // x < a ? a : x > b ? b : x
  LeakyRelu,    // x < 0 ? a x : x
  PRelu,        // x < 0 ? slope[column] x : x
  HardSigmoid,  // clip(a x + b, 0, 1)
  HardSwish,    // x clip(a x + b, 0, 1)
  Sigmoid,      // 1 / (1 + exp(-x))
  Silu,         // x / (1 + exp(-x))
  Tanh,
  Gelu,  // x/2 (1 + erf(x / sqrt 2)); with a != 0 its tanh approximation
  Elu,   // x < 0 ? a (exp(x) - 1) : x
};

struct Epilogue {
  const float* bias = nullptr;      // one per column
  const float* residual = nullptr;  // added; laid out as the result, rows residual_stride apart
  std::ptrdiff_t residual_stride = 0;
  bool residual_before_act = false;
  Act act = Act::None;
  float a = 0, b = 0;
  const float* slope = nullptr;  // PRelu: one per column
};

// Whether `act` runs as a pass over rows just written rather than on registers.
constexpr bool is_pass(Act act) {
  return act >= Act::Sigmoid;
}

// The scalar definition of an activation; the reference for tests.
float apply_act(Act act, float x, float a, float b, float slope);

// An activation for which is_pass() holds, in place on n values, by the functions of kernels/math
// for active_isa() and with their errors: Sigmoid, Tanh and Elu 4 ulp, Silu and Gelu 4 ulp of
// max(|y|, |x|/4), wherever the result is a normal number.
void act_row(Act act, float* x, std::int64_t n, float a, float b);

// The epilogue of columns [first, ...) of a wider result.
inline Epilogue columns_from(Epilogue e, std::ptrdiff_t first) {
  if (e.bias) e.bias += first;
  if (e.residual) e.residual += first;
  if (e.slope) e.slope += first;
  return e;
}

}  // namespace treadle::kernels
