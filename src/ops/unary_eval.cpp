#include <numbers>

#include "ops/elements.hpp"
#include "ops/unary.hpp"

namespace treadle::ops {
namespace {

template <typename T, typename R, typename F>
void map(const TensorView& x, const TensorView& y, F f) {
  const T* in = x.as<T>();
  R* out = y.as<R>();
  const std::int64_t n = x.elements();
  for (std::int64_t i = 0; i < n; ++i) out[i] = convert<R>(f(widen(in[i])));
}

template <typename C>
C softplus(C x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

template <typename C>
C gelu_tanh(C x) {
  const C k = static_cast<C>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return C(0.5) * x * (C(1) + std::tanh(k * (x + C(0.044715) * x * x * x)));
}

template <typename C>
C sign(C x) {
  if (x != x) return x;
  return static_cast<C>((x > 0) - (x < 0));
}

template <typename C>
bool is_inf(C x, bool positive, bool negative) {
  return std::isinf(x) && (x > 0 ? positive : negative);
}

// Functions of which a plain call of the standard library is the definition. True when done.
template <typename T>
bool eval_standard(UnaryFn fn, const TensorView& x, const TensorView& y) {
  using C = compute_t<T>;
  switch (fn) {
    case UnaryFn::Reciprocal:
      map<T, T>(x, y, [](C v) { return C(1) / v; });
      break;
    case UnaryFn::Floor:
      map<T, T>(x, y, [](C v) { return std::floor(v); });
      break;
    case UnaryFn::Ceil:
      map<T, T>(x, y, [](C v) { return std::ceil(v); });
      break;
    case UnaryFn::Round:
      map<T, T>(x, y, [](C v) { return std::nearbyint(v); });
      break;
    case UnaryFn::Sqrt:
      map<T, T>(x, y, [](C v) { return std::sqrt(v); });
      break;
    case UnaryFn::Rsqrt:
      map<T, T>(x, y, [](C v) { return C(1) / std::sqrt(v); });
      break;
    case UnaryFn::Exp:
      map<T, T>(x, y, [](C v) { return std::exp(v); });
      break;
    case UnaryFn::Log:
      map<T, T>(x, y, [](C v) { return std::log(v); });
      break;
    case UnaryFn::Erf:
      map<T, T>(x, y, [](C v) { return std::erf(v); });
      break;
    case UnaryFn::Sin:
      map<T, T>(x, y, [](C v) { return std::sin(v); });
      break;
    case UnaryFn::Cos:
      map<T, T>(x, y, [](C v) { return std::cos(v); });
      break;
    case UnaryFn::Tan:
      map<T, T>(x, y, [](C v) { return std::tan(v); });
      break;
    case UnaryFn::Asin:
      map<T, T>(x, y, [](C v) { return std::asin(v); });
      break;
    case UnaryFn::Acos:
      map<T, T>(x, y, [](C v) { return std::acos(v); });
      break;
    case UnaryFn::Atan:
      map<T, T>(x, y, [](C v) { return std::atan(v); });
      break;
    case UnaryFn::Sinh:
      map<T, T>(x, y, [](C v) { return std::sinh(v); });
      break;
    case UnaryFn::Cosh:
      map<T, T>(x, y, [](C v) { return std::cosh(v); });
      break;
    case UnaryFn::Tanh:
      map<T, T>(x, y, [](C v) { return std::tanh(v); });
      break;
    case UnaryFn::Asinh:
      map<T, T>(x, y, [](C v) { return std::asinh(v); });
      break;
    case UnaryFn::Acosh:
      map<T, T>(x, y, [](C v) { return std::acosh(v); });
      break;
    case UnaryFn::Atanh:
      map<T, T>(x, y, [](C v) { return std::atanh(v); });
      break;
    default:
      return false;
  }
  return true;
}

template <typename T>
bool eval_activation(const Unary& op, const TensorView& x, const TensorView& y) {
  using C = compute_t<T>;
  const C a = static_cast<C>(op.a), b = static_cast<C>(op.b);
  switch (op.fn) {
    case UnaryFn::LeakyRelu:
      map<T, T>(x, y, [=](C v) { return v < 0 ? a * v : v; });
      break;
    case UnaryFn::Elu:
      map<T, T>(x, y, [=](C v) { return v < 0 ? a * std::expm1(v) : v; });
      break;
    case UnaryFn::Selu:
      map<T, T>(x, y, [=](C v) { return b * (v < 0 ? a * std::expm1(v) : v); });
      break;
    case UnaryFn::Celu:
      map<T, T>(x, y, [=](C v) { return v < 0 ? a * std::expm1(v / a) : v; });
      break;
    case UnaryFn::Sigmoid:
      map<T, T>(x, y, [](C v) { return C(1) / (C(1) + std::exp(-v)); });
      break;
    case UnaryFn::HardSigmoid:
      map<T, T>(x, y, [=](C v) { return nan_max(C(0), nan_min(C(1), a * v + b)); });
      break;
    case UnaryFn::HardSwish:
      map<T, T>(x, y, [](C v) { return v * nan_max(C(0), nan_min(C(1), v / C(6) + C(0.5))); });
      break;
    case UnaryFn::Silu:
      map<T, T>(x, y, [=](C v) { return v / (C(1) + std::exp(-a * v)); });
      break;
    case UnaryFn::Softplus:
      map<T, T>(x, y, [](C v) { return softplus(v); });
      break;
    case UnaryFn::Softsign:
      map<T, T>(x, y, [](C v) { return v / (C(1) + std::fabs(v)); });
      break;
    case UnaryFn::Mish:
      map<T, T>(x, y, [](C v) { return v * std::tanh(softplus(v)); });
      break;
    case UnaryFn::Gelu:
      map<T, T>(x, y, [](C v) {
        return C(0.5) * v * (C(1) + std::erf(v * static_cast<C>(std::numbers::sqrt2 / 2)));
      });
      break;
    case UnaryFn::GeluTanh:
      map<T, T>(x, y, [](C v) { return gelu_tanh(v); });
      break;
    case UnaryFn::ThresholdedRelu:
      map<T, T>(x, y, [=](C v) { return v > a ? v : C(0); });
      break;
    default:
      return false;
  }
  return true;
}

// Functions that integers have too.
template <typename T>
bool eval_numeric(const Unary& op, const TensorView& x, const TensorView& y) {
  using C = compute_t<T>;
  const C a = convert<C>(op.a), b = convert<C>(op.b);
  switch (op.fn) {
    case UnaryFn::Abs:
      map<T, T>(x, y, [](C v) {
        if constexpr (is_int_v<C>)
          return v < 0 ? wrap_sub(C(0), v) : v;
        else
          return std::fabs(v);
      });
      break;
    case UnaryFn::Neg:
      map<T, T>(x, y, [](C v) {
        if constexpr (is_int_v<C>)
          return wrap_sub(C(0), v);
        else
          return -v;
      });
      break;
    case UnaryFn::Sign:
      map<T, T>(x, y, [](C v) { return sign(v); });
      break;
    case UnaryFn::Square:
      map<T, T>(x, y, [](C v) {
        if constexpr (is_int_v<C>)
          return wrap_mul(v, v);
        else
          return v * v;
      });
      break;
    case UnaryFn::Relu:
      map<T, T>(x, y, [](C v) { return v < 0 ? C(0) : v; });
      break;
    case UnaryFn::Clip:
      map<T, T>(x, y, [=](C v) { return nan_min(nan_max(v, a), b); });
      break;
    default:
      return false;
  }
  return true;
}

template <typename T>
bool eval_integer(const Unary& op, const TensorView& x, const TensorView& y) {
  switch (op.fn) {
    case UnaryFn::Floor:
    case UnaryFn::Ceil:
    case UnaryFn::Round:
      map<T, T>(x, y, [](T v) { return v; });
      break;
    case UnaryFn::Erf:
      map<T, T>(x, y, [](T v) { return std::erf(static_cast<double>(v)); });
      break;
    case UnaryFn::BitwiseNot:
      map<T, T>(x, y, [](T v) { return static_cast<T>(~v); });
      break;
    default:
      return false;
  }
  return true;
}

template <typename T>
bool eval_shrink(const Unary& op, const TensorView& x, const TensorView& y) {
  using C = std::conditional_t<is_real_v<T>, compute_t<T>, double>;
  if (op.fn != UnaryFn::Shrink) return false;
  const C bias = static_cast<C>(op.a), lambda = static_cast<C>(op.b);
  map<T, T>(x, y, [=](compute_t<T> e) {
    const C v = static_cast<C>(e);
    return v < -lambda ? v + bias : v > lambda ? v - bias : C(0);
  });
  return true;
}

template <typename T>
bool eval_test(const Unary& op, const TensorView& x, const TensorView& y) {
  using C = compute_t<T>;
  const bool positive = op.a != 0, negative = op.b != 0;
  switch (op.fn) {
    case UnaryFn::IsNaN:
      map<T, bool>(x, y, [](C v) { return std::isnan(v); });
      break;
    case UnaryFn::IsInf:
      map<T, bool>(x, y, [=](C v) { return is_inf(v, positive, negative); });
      break;
    default:
      return false;
  }
  return true;
}

}  // namespace

void Unary::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  const bool done = dispatch(x.dtype, [&]<typename T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      if (fn != UnaryFn::Not) return false;
      map<bool, bool>(x, y, [](bool v) { return !v; });
      return true;
    } else if constexpr (is_real_v<T>) {
      return eval_numeric<T>(*this, x, y) || eval_standard<T>(fn, x, y) ||
             eval_activation<T>(*this, x, y) || eval_shrink<T>(*this, x, y) ||
             eval_test<T>(*this, x, y);
    } else {
      return eval_numeric<T>(*this, x, y) || eval_integer<T>(*this, x, y) ||
             eval_shrink<T>(*this, x, y);
    }
  });
  check(done, ErrorKind::Type, "{} does not accept dtype {}", name_of(fn), name_of(x.dtype));
}

}  // namespace treadle::ops
