// The row functions for one instruction set; included by one file for each.
#pragma once

#include "kernels/math/rows.hpp"
#include "kernels/math/vec-inl.hpp"

namespace treadle::kernels {
namespace {

inline F gelu_tanh(F x) {
  const F inner = 0.79788456080286536f * fma(x * x * x, set(0.044715f), x);
  // 1 + tanh(u) = 2 − 2 / (e^2u + 1) without cancellation.
  return x * logistic(inner + inner);
}

inline F mish(F x) {
  const F e = exponential(at_most(set(30.0f), x));
  const F w = e * (e + 2.0f);
  return x * (w / (w + 2.0f));
}

template <Fn1 fn>
inline F apply(F x, F a, F b) {
  const F zero = set(0.0f);
  if constexpr (fn == Fn1::Abs) return absolute(x);
  if constexpr (fn == Fn1::Neg) return -x;
  if constexpr (fn == Fn1::Sign) return pick(x > 0.0f, set(1.0f), pick(x < 0.0f, set(-1.0f), x));
  if constexpr (fn == Fn1::Reciprocal) return 1.0f / x;
  if constexpr (fn == Fn1::Floor) return round_down(x);
  if constexpr (fn == Fn1::Ceil) return round_up(x);
  if constexpr (fn == Fn1::Round) return round_even(x);
  if constexpr (fn == Fn1::Sqrt) return square_root(x);
  if constexpr (fn == Fn1::Rsqrt) return 1.0f / square_root(x);
  if constexpr (fn == Fn1::Square) return x * x;
  if constexpr (fn == Fn1::Exp) return exponential(x);
  if constexpr (fn == Fn1::Log) return logarithm(x);
  if constexpr (fn == Fn1::Erf) return error_function(x);
  if constexpr (fn == Fn1::Sin) return sine(x, 0);
  if constexpr (fn == Fn1::Cos) return sine(x, 1);
  if constexpr (fn == Fn1::Tanh) return hyperbolic_tangent(x);
  if constexpr (fn == Fn1::Relu) return at_least(zero, x);
  if constexpr (fn == Fn1::LeakyRelu) return pick(x < 0.0f, a * x, x);
  if constexpr (fn == Fn1::Elu) {
    return pick(x < 0.0f, a * exponential_less_one(at_most(zero, x)), x);
  }
  if constexpr (fn == Fn1::Selu) {
    return b * pick(x < 0.0f, a * exponential_less_one(at_most(zero, x)), x);
  }
  if constexpr (fn == Fn1::Sigmoid) return logistic(x);
  if constexpr (fn == Fn1::HardSigmoid) return at_most(set(1.0f), at_least(zero, a * x + b));
  if constexpr (fn == Fn1::HardSwish) {
    return x * at_most(set(1.0f), at_least(zero, x * (1.0f / 6.0f) + 0.5f));
  }
  if constexpr (fn == Fn1::Silu) return x * logistic(a * x);
  if constexpr (fn == Fn1::Softplus) return soft_plus(x);
  if constexpr (fn == Fn1::Softsign) return x / (1.0f + absolute(x));
  if constexpr (fn == Fn1::Mish) return mish(x);
  if constexpr (fn == Fn1::Gelu) {
    return 0.5f * x * (1.0f + error_function(x * 0.70710678118654752f));
  }
  if constexpr (fn == Fn1::GeluTanh) return gelu_tanh(x);
  if constexpr (fn == Fn1::Clip) return at_most(b, at_least(a, x));
}

template <Fn2 fn>
inline F apply(F x, F y) {
  if constexpr (fn == Fn2::Add) return x + y;
  if constexpr (fn == Fn2::Sub) return x - y;
  if constexpr (fn == Fn2::Mul) return x * y;
  if constexpr (fn == Fn2::Div) return x / y;
  if constexpr (fn == Fn2::Pow) {
    for (int i = 0; i < kLanes; ++i) x[i] = __builtin_powf(x[i], y[i]);
    return x;
  }
  if constexpr (fn == Fn2::Min) return smaller(x, y);
  if constexpr (fn == Fn2::Max) return larger(x, y);
  if constexpr (fn == Fn2::SquaredDifference) return (x - y) * (x - y);
  if constexpr (fn == Fn2::PRelu) return pick(x < 0.0f, x * y, x);
}

template <Fn1 fn>
void unary_row(const float* x, float* y, std::int64_t n, float a, float b) {
  const F va = set(a), vb = set(b);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, apply<fn>(load(x + i), va, vb));
  if (i < n) store_part(y + i, n - i, apply<fn>(load_part(x + i, n - i), va, vb));
}

template <Fn2 fn>
void row_row(const float* x, const float* y, float* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, apply<fn>(load(x + i), load(y + i)));
  if (i < n) {
    store_part(out + i, n - i, apply<fn>(load_part(x + i, n - i), load_part(y + i, n - i)));
  }
}

template <Fn2 fn>
void row_one(const float* x, const float* y, float* out, std::int64_t n) {
  const F one = set(*y);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, apply<fn>(load(x + i), one));
  if (i < n) store_part(out + i, n - i, apply<fn>(load_part(x + i, n - i), one));
}

template <Fn2 fn>
void one_row(const float* x, const float* y, float* out, std::int64_t n) {
  const F one = set(*x);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, apply<fn>(one, load(y + i)));
  if (i < n) store_part(out + i, n - i, apply<fn>(one, load_part(y + i, n - i)));
}

constexpr float start_of(Fold fold) {
  if (fold == Fold::Prod) return 1.0f;
  if (fold == Fold::Max) return -__builtin_inff();
  if (fold == Fold::Min) return __builtin_inff();
  return 0.0f;
}

// What a value adds to the fold, and how two folds become one.
template <Fold fold>
inline F prepare(F x) {
  if constexpr (fold == Fold::SumAbs) return absolute(x);
  if constexpr (fold == Fold::SumSquare) return x * x;
  return x;
}
template <Fold fold>
inline F combine(F x, F y) {
  if constexpr (fold == Fold::Prod) return x * y;
  if constexpr (fold == Fold::Max) return larger(x, y);
  if constexpr (fold == Fold::Min) return smaller(x, y);
  return x + y;
}

// Partial results are joined after so many values, so that long sums stay accurate.
constexpr std::int64_t kFoldBlock = 4096;

template <Fold fold>
float fold_row(const float* x, std::int64_t n) {
  const F start = set(start_of(fold));
  F total = start;
  std::int64_t i = 0;
  while (i < n) {
    F acc[4] = {start, start, start, start};
    const std::int64_t end = n - i < kFoldBlock ? n : i + kFoldBlock;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      for (int k = 0; k < 4; ++k) {
        acc[k] = combine<fold>(acc[k], prepare<fold>(load(x + i + k * kLanes)));
      }
    }
    for (; i + kLanes <= end; i += kLanes)
      acc[0] = combine<fold>(acc[0], prepare<fold>(load(x + i)));
    if (i < end) {
      acc[1] = combine<fold>(acc[1], prepare<fold>(load_part(x + i, end - i, start[0])));
      i = end;
    }
    const F joined = combine<fold>(combine<fold>(acc[0], acc[1]), combine<fold>(acc[2], acc[3]));
    total = combine<fold>(total, joined);
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    F high = start;
    for (int k = 0; k < half; ++k) high[k] = total[k + half];
    total = combine<fold>(total, high);
  }
  return total[0];
}

constexpr std::int64_t kFoldRowsBlock = 64;

template <Fold fold, int vectors, bool part>
inline void fold_columns(const float* x, std::ptrdiff_t stride, std::int64_t n_rows, float* out,
                         std::int64_t m, bool first) {
  const F start = set(start_of(fold));
  F total[vectors];
  for (int k = 0; k < vectors; ++k) {
    total[k] = first ? start : part ? load_part(out, m) : load(out + k * kLanes);
  }
  for (std::int64_t r = 0; r < n_rows;) {
    const std::int64_t end = n_rows - r < kFoldRowsBlock ? n_rows : r + kFoldRowsBlock;
    F acc[vectors];
    for (int k = 0; k < vectors; ++k) acc[k] = start;
    for (; r < end; ++r) {
      const float* row = x + r * stride;
      for (int k = 0; k < vectors; ++k) {
        const F v = part ? load_part(row, m) : load(row + k * kLanes);
        acc[k] = combine<fold>(acc[k], prepare<fold>(v));
      }
    }
    for (int k = 0; k < vectors; ++k) total[k] = combine<fold>(total[k], acc[k]);
  }
  for (int k = 0; k < vectors; ++k) {
    if (part) {
      store_part(out, m, total[k]);
    } else {
      store(out + k * kLanes, total[k]);
    }
  }
}

template <Fold fold>
void fold_rows(const float* x, std::ptrdiff_t stride, std::int64_t n_rows, float* out,
               std::int64_t n, bool first) {
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    fold_columns<fold, 4, false>(x + i, stride, n_rows, out + i, kLanes, first);
  }
  for (; i + kLanes <= n; i += kLanes) {
    fold_columns<fold, 1, false>(x + i, stride, n_rows, out + i, kLanes, first);
  }
  if (i < n) fold_columns<fold, 1, true>(x + i, stride, n_rows, out + i, n - i, first);
}

inline float exp_sum(const float* x, float* y, std::int64_t n, float shift) {
  F acc = set(0.0f);
  const F s = set(shift);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F e = exponential(load(x + i) - s);
    store(y + i, e);
    acc += e;
  }
  float sum = sum_of(acc);
  if (i < n) {
    float t[kLanes];
    store(t, exponential(load_part(x + i, n - i) - s));
    for (std::int64_t k = 0; k < n - i; ++k) {
      y[i + k] = t[k];
      sum += t[k];
    }
  }
  return sum;
}

inline float sum_square_about(const float* x, std::int64_t n, float center) {
  const F c = set(center);
  F total = set(0.0f);
  std::int64_t i = 0;
  while (i < n) {
    F acc[2] = {set(0.0f), set(0.0f)};
    const std::int64_t end = n - i < kFoldBlock ? n : i + kFoldBlock;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      for (int k = 0; k < 2; ++k) {
        const F d = load(x + i + k * kLanes) - c;
        acc[k] = fma(d, d, acc[k]);
      }
    }
    for (; i < end; i += kLanes) {
      const F d = (end - i < kLanes ? load_part(x + i, end - i, center) : load(x + i)) - c;
      acc[0] = fma(d, d, acc[0]);
    }
    i = end;
    total += acc[0] + acc[1];
  }
  return sum_of(total);
}

inline void shift_scale(const float* x, float* y, std::int64_t n, float shift, float scale) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, (load(x + i) - shift) * scale);
  for (; i < n; ++i) y[i] = (x[i] - shift) * scale;
}

inline void blend(const float* x, const float* y, float* out, std::int64_t n, float a, float b) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, load(x + i) * a + load(y + i) * b);
  for (; i < n; ++i) out[i] = x[i] * a + y[i] * b;
}

template <typename T, typename V>
inline void max_rows(const T* x, std::ptrdiff_t stride, std::int64_t rows, T* out, std::int64_t n,
                     bool first) {
  std::int64_t i = 0;
  const auto largest = [](V a, V b) { return a > b ? a : b; };
  const auto get = [](const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  };
  for (; i + kBytes <= n; i += kBytes) {
    V most = first ? get(x + i) : largest(get(x + i), get(out + i));
    for (std::int64_t r = 1; r < rows; ++r) most = largest(get(x + r * stride + i), most);
    __builtin_memcpy(out + i, &most, sizeof most);
  }
  for (; i < n; ++i) {
    T most = first || x[i] > out[i] ? x[i] : out[i];
    for (std::int64_t r = 1; r < rows; ++r)
      most = x[r * stride + i] > most ? x[r * stride + i] : most;
    out[i] = most;
  }
}

// Of a value clamped to lo … hi, which lie within 2^22 of 0.
inline Bytes quantized(F x, F scale, I zero, F lo, F hi) {
  constexpr float kRounds = 12582912.0f;  // 1.5 · 2^23: sums with it have no fraction left
  F q = x / scale;
  q = pick(q == q, q, F{});
  q = pick(q < lo, lo, q);
  q = pick(q > hi, hi, q);
  const I rounded = __builtin_convertvector((q + kRounds) - kRounds, I) + zero;
  return low_bytes(rounded);
}

inline void quantize(const float* x, std::uint8_t* y, std::int64_t n, float scale,
                     std::int32_t zero, std::int32_t lo, std::int32_t hi) {
  const F s = set(scale), l = set(static_cast<float>(lo - zero)),
          h = set(static_cast<float>(hi - zero));
  const I z = zero - I{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Bytes bytes = quantized(load(x + i), s, z, l, h);
    __builtin_memcpy(y + i, &bytes, sizeof bytes);
  }
  if (i == n) return;
  const Bytes bytes = quantized(load_part(x + i, n - i), s, z, l, h);
  for (int j = 0; i + j < n; ++j) y[i + j] = bytes[j];
}

template <typename T>
inline void dequantize(const T* x, float* y, std::int64_t n, float scale, std::int32_t zero) {
  const F s = set(scale);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    store(y + i, __builtin_convertvector(widened(x + i) - zero, F) * s);
  for (; i < n; ++i) y[i] = static_cast<float>(x[i] - zero) * scale;
}

inline void lstm_cell(const float* i, const float* o, const float* f, const float* g, float* c,
                      float* h, std::int64_t n) {
  for (std::int64_t k = 0; k < n; k += kLanes) {
    const std::int64_t m = n - k < kLanes ? n - k : kLanes;
    const bool part = m < kLanes;
    const auto get = [&](const float* p) { return part ? load_part(p + k, m) : load(p + k); };
    const F cell = logistic(get(f)) * get(c) + logistic(get(i)) * hyperbolic_tangent(get(g));
    const F hidden = logistic(get(o)) * hyperbolic_tangent(cell);
    if (part) {
      store_part(c + k, m, cell);
      store_part(h + k, m, hidden);
    } else {
      store(c + k, cell);
      store(h + k, hidden);
    }
  }
}

inline Rows make_rows(const char* name, Isa isa) {
  Rows t;
  t.name = name;
  t.isa = isa;
#define TREADLE_FN1(f) t.unary[static_cast<std::size_t>(Fn1::f)] = unary_row<Fn1::f>;
#define TREADLE_FN2(f)                                           \
  t.row_row[static_cast<std::size_t>(Fn2::f)] = row_row<Fn2::f>; \
  t.row_one[static_cast<std::size_t>(Fn2::f)] = row_one<Fn2::f>; \
  t.one_row[static_cast<std::size_t>(Fn2::f)] = one_row<Fn2::f>;
#define TREADLE_FOLD(f)                                          \
  t.fold[static_cast<std::size_t>(Fold::f)] = fold_row<Fold::f>; \
  t.fold_rows[static_cast<std::size_t>(Fold::f)] = fold_rows<Fold::f>;
#include "kernels/math/functions.inc"
#undef TREADLE_FN1
#undef TREADLE_FN2
#undef TREADLE_FOLD
  t.exp_sum = exp_sum;
  t.sum_square_about = sum_square_about;
  t.shift_scale = shift_scale;
  t.blend = blend;
  t.max_u8 = max_rows<std::uint8_t, FullBytes>;
  t.max_s8 = max_rows<std::int8_t, FullSignedBytes>;
  t.quantize = quantize;
  t.dequantize_u8 = dequantize<std::uint8_t>;
  t.dequantize_s8 = dequantize<std::int8_t>;
  t.lstm_cell = lstm_cell;
  return t;
}

}  // namespace
}  // namespace treadle::kernels
