#include "kernels/epilogue.hpp"

#include <cmath>

#include "kernels/math/rows.hpp"

namespace treadle::kernels {
namespace {

float clip(float x, float lo, float hi) {
  return x < lo ? lo : x > hi ? hi : x;
}

float gelu(float x, bool tanh_form) {
  if (!tanh_form) return 0.5f * x * (1.0f + std::erf(x * 0.70710678118654752f));
  const float inner = 0.79788456080286536f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + std::tanh(inner));
}

}  // namespace

float apply_act(Act act, float x, float a, float b, float slope) {
  switch (act) {
    case Act::None:
      return x;
    case Act::Relu:
      return x < 0.0f ? 0.0f : x;
    case Act::Clip:
      return clip(x, a, b);
    case Act::LeakyRelu:
      return x < 0.0f ? a * x : x;
    case Act::PRelu:
      return x < 0.0f ? slope * x : x;
    case Act::HardSigmoid:
      return clip(a * x + b, 0.0f, 1.0f);
    case Act::HardSwish:
      return x * clip(a * x + b, 0.0f, 1.0f);
    case Act::Sigmoid:
      return 1.0f / (1.0f + std::exp(-x));
    case Act::Silu:
      return x / (1.0f + std::exp(-x));
    case Act::Tanh:
      return std::tanh(x);
    case Act::Gelu:
      return gelu(x, a != 0.0f);
    case Act::Elu:
      return x < 0.0f ? a * std::expm1(x) : x;
  }
  return x;
}

void act_row(Act act, float* x, std::int64_t n, float a, float b) {
  const Rows& table = rows();
  switch (act) {
    case Act::Sigmoid:
      return table[Fn1::Sigmoid](x, x, n, a, b);
    case Act::Silu:
      return table[Fn1::Silu](x, x, n, 1.0f, b);
    case Act::Tanh:
      return table[Fn1::Tanh](x, x, n, a, b);
    case Act::Gelu:
      return table[a != 0.0f ? Fn1::GeluTanh : Fn1::Gelu](x, x, n, a, b);
    case Act::Elu:
      return table[Fn1::Elu](x, x, n, a, b);
    default:
      return;
  }
}

}  // namespace treadle::kernels
