#include <array>

#include "ops/binary.hpp"
#include "ops/cast.hpp"
#include "ops/elements.hpp"
#include "ops/loop.hpp"

namespace treadle::ops {
namespace {

struct Operands {
  const StridedLoop& loop;
  const TensorView& a;
  const TensorView& b;
  const TensorView& out;
};

template <typename A, typename B, typename R, typename F>
void map(const Operands& o, F f) {
  const A* a = o.a.as<A>();
  const B* b = o.b.as<B>();
  R* out = o.out.as<R>();
  const std::int64_t n = o.loop.row();
  const std::int64_t sa = o.loop.row_stride(1), sb = o.loop.row_stride(2);
  for_each_row(o.loop, [&](const std::int64_t* at) {
    const A* x = a + at[1];
    const B* y = b + at[2];
    R* r = out + at[0];
    if (sa == 1 && sb == 1) {
      for (std::int64_t i = 0; i < n; ++i) r[i] = convert<R>(f(widen(x[i]), widen(y[i])));
    } else {
      for (std::int64_t i = 0; i < n; ++i) r[i] = convert<R>(f(widen(x[i * sa]), widen(y[i * sb])));
    }
  });
}

template <std::integral C>
C divide(C a, C b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<C>) {
    if (b == -1) return wrap_sub(C(0), a);
  }
  return static_cast<C>(a / b);
}

template <std::integral C>
C remainder(C a, C b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<C>) {
    if (b == -1) return 0;
  }
  return static_cast<C>(a % b);
}

template <typename C>
C floor_div(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::floor(a / b);
  } else {
    const C q = divide(a, b), r = remainder(a, b);
    return r != 0 && (r < 0) != (b < 0) ? static_cast<C>(q - 1) : q;
  }
}

// The sign of the result, zero included, is that of b.
template <typename C>
C floor_mod(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    const C r = std::fmod(a, b);
    if (r == 0) return std::copysign(C(0), b);
    return (r < 0) != (b < 0) ? r + b : r;
  } else {
    const C r = remainder(a, b);
    return r != 0 && (r < 0) != (b < 0) ? static_cast<C>(r + b) : r;
  }
}

// Wraps; a negative exponent truncates to what 1 and −1 give, else 0.
template <std::integral C>
C int_pow(C base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<C>) {
      if (base == -1) return exponent % 2 == 0 ? C(1) : C(-1);
    }
    return 0;
  }
  C result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = wrap_mul(result, base);
    base = wrap_mul(base, base);
  }
  return result;
}

// A count below 0 or not below the width shifts everything out (signed right shifts keep the sign).
template <std::integral C>
C shift(C a, C count, bool left) {
  constexpr int kWidth = static_cast<int>(sizeof(C)) * 8;
  const bool all = count < 0 || static_cast<std::uint64_t>(count) >= kWidth;
  if (left) return all ? C(0) : static_cast<C>(static_cast<std::uint64_t>(a) << count);
  if (all) return a < 0 ? static_cast<C>(-1) : C(0);
  return static_cast<C>(a >> count);
}

template <typename T>
bool eval_arithmetic(BinaryFn fn, const Operands& o) {
  using C = compute_t<T>;
  constexpr bool kInt = is_int_v<C>;
  const auto run = [&](auto f) { map<T, T, T>(o, f); };
  switch (fn) {
    case BinaryFn::Add:
      run([](C a, C b) {
        if constexpr (kInt)
          return wrap_add(a, b);
        else
          return a + b;
      });
      break;
    case BinaryFn::Sub:
      run([](C a, C b) {
        if constexpr (kInt)
          return wrap_sub(a, b);
        else
          return a - b;
      });
      break;
    case BinaryFn::Mul:
      run([](C a, C b) {
        if constexpr (kInt)
          return wrap_mul(a, b);
        else
          return a * b;
      });
      break;
    case BinaryFn::Div:
      run([](C a, C b) {
        if constexpr (kInt)
          return divide(a, b);
        else
          return a / b;
      });
      break;
    case BinaryFn::SquaredDifference:
      run([](C a, C b) {
        if constexpr (kInt)
          return wrap_mul(wrap_sub(a, b), wrap_sub(a, b));
        else
          return (a - b) * (a - b);
      });
      break;
    case BinaryFn::PRelu:
      run([](C a, C b) {
        if constexpr (kInt)
          return a < 0 ? wrap_mul(a, b) : a;
        else
          return a < 0 ? a * b : a;
      });
      break;
    case BinaryFn::Min:
      run([](C a, C b) { return nan_min(a, b); });
      break;
    case BinaryFn::Max:
      run([](C a, C b) { return nan_max(a, b); });
      break;
    default:
      return false;
  }
  return true;
}

template <typename T>
bool eval_division(BinaryFn fn, const Operands& o) {
  using C = compute_t<T>;
  switch (fn) {
    case BinaryFn::FloorDiv:
      map<T, T, T>(o, [](C a, C b) { return floor_div(a, b); });
      break;
    case BinaryFn::FloorMod:
      map<T, T, T>(o, [](C a, C b) { return floor_mod(a, b); });
      break;
    case BinaryFn::Fmod:
      map<T, T, T>(o, [](C a, C b) {
        if constexpr (is_int_v<C>)
          return remainder(a, b);
        else
          return std::fmod(a, b);
      });
      break;
    case BinaryFn::Atan2:
      if constexpr (is_real_v<T>) {
        map<T, T, T>(o, [](C a, C b) { return std::atan2(a, b); });
        break;
      }
      return false;
    default:
      return false;
  }
  return true;
}

template <std::integral T>
bool eval_bits(BinaryFn fn, const Operands& o) {
  const auto run = [&](auto f) { map<T, T, T>(o, f); };
  switch (fn) {
    case BinaryFn::BitAnd:
      run([](T a, T b) { return static_cast<T>(a & b); });
      break;
    case BinaryFn::BitOr:
      run([](T a, T b) { return static_cast<T>(a | b); });
      break;
    case BinaryFn::BitXor:
      run([](T a, T b) { return static_cast<T>(a ^ b); });
      break;
    case BinaryFn::ShiftLeft:
      run([](T a, T b) { return shift(a, b, true); });
      break;
    case BinaryFn::ShiftRight:
      run([](T a, T b) { return shift(a, b, false); });
      break;
    default:
      return false;
  }
  return true;
}

bool eval_logic(BinaryFn fn, const Operands& o) {
  const auto run = [&](auto f) { map<bool, bool, bool>(o, f); };
  switch (fn) {
    case BinaryFn::And:
      run([](bool a, bool b) { return a && b; });
      break;
    case BinaryFn::Or:
      run([](bool a, bool b) { return a || b; });
      break;
    case BinaryFn::Xor:
      run([](bool a, bool b) { return a != b; });
      break;
    default:
      return false;
  }
  return true;
}

template <typename T>
bool eval_comparison(BinaryFn fn, const Operands& o) {
  using C = compute_t<T>;
  const auto run = [&](auto f) { map<T, T, bool>(o, f); };
  switch (fn) {
    case BinaryFn::Equal:
      run([](const C& a, const C& b) { return a == b; });
      break;
    case BinaryFn::NotEqual:
      run([](const C& a, const C& b) { return a != b; });
      break;
    case BinaryFn::Less:
      run([](const C& a, const C& b) { return a < b; });
      break;
    case BinaryFn::LessEqual:
      run([](const C& a, const C& b) { return a <= b; });
      break;
    case BinaryFn::Greater:
      run([](const C& a, const C& b) { return a > b; });
      break;
    case BinaryFn::GreaterEqual:
      run([](const C& a, const C& b) { return a >= b; });
      break;
    default:
      return false;
  }
  return true;
}

// Base and exponent may differ in dtype: integers to integer powers wrap, all else goes through
// floating point of the wider of both.
void eval_pow(const Operands& o) {
  const bool int_exponent = is_integer(o.b.dtype);
  Tensor exponent(int_exponent ? DType::I64 : DType::F64, o.b.shape);
  const TensorView e = exponent.view();
  dispatch(o.a.dtype, [&]<typename T>(T) {
    using C = compute_t<T>;
    if constexpr (is_real_v<T>) {
      if (o.b.dtype == o.a.dtype) {
        map<T, T, T>(o, [](C a, C b) { return std::pow(a, b); });
        return;
      }
    }
    convert_elements(o.b, e);
    const Operands with{o.loop, o.a, e, o.out};
    if constexpr (is_int_v<T>) {
      if (int_exponent) {
        map<T, std::int64_t, T>(with, [](T a, std::int64_t b) { return int_pow(a, b); });
        return;
      }
    }
    if (int_exponent) {
      map<T, std::int64_t, T>(with, [](C a, std::int64_t b) {
        return std::pow(static_cast<double>(a), static_cast<double>(b));
      });
    } else {
      map<T, double, T>(with, [](C a, double b) { return std::pow(static_cast<double>(a), b); });
    }
  });
}

bool eval_typed(BinaryFn fn, const Operands& o) {
  if (o.a.dtype == DType::String) {
    if (fn != BinaryFn::Equal && fn != BinaryFn::NotEqual) return false;
    map<std::string, std::string, bool>(o, [fn](const std::string& a, const std::string& b) {
      return (a == b) == (fn == BinaryFn::Equal);
    });
    return true;
  }
  return dispatch(o.a.dtype, [&]<typename T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      return eval_logic(fn, o) || eval_comparison<bool>(fn, o);
    } else if constexpr (is_int_v<T>) {
      return eval_arithmetic<T>(fn, o) || eval_division<T>(fn, o) || eval_bits<T>(fn, o) ||
             eval_comparison<T>(fn, o);
    } else {
      return eval_arithmetic<T>(fn, o) || eval_division<T>(fn, o) || eval_comparison<T>(fn, o);
    }
  });
}

}  // namespace

void Binary::eval(EvalContext& ctx) const {
  const TensorView& a = ctx.in(0);
  const TensorView& b = ctx.in(1);
  const TensorView& out = ctx.output(0);
  const std::array<const Shape*, 2> shapes = {&a.shape, &b.shape};
  const StridedLoop loop = broadcast_loop(name_of(fn), out.shape, shapes);
  const Operands o{loop, a, b, out};
  if (fn == BinaryFn::Pow) {
    eval_pow(o);
  } else {
    check(eval_typed(fn, o), ErrorKind::Type, "{} does not accept dtype {}", name_of(fn),
          name_of(a.dtype));
  }
}

}  // namespace treadle::ops
