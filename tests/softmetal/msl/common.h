// Type traits and casts of the metal_stdlib stand-in.
#pragma clang system_header
#ifndef SOFTMETAL_COMMON
#define SOFTMETAL_COMMON

namespace metal {

template <class T, T V>
struct integral_constant {
  enum : T { value = V };
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <class A, class B>
struct is_same : false_type {};
template <class A>
struct is_same<A, A> : true_type {};
template <bool C, class A, class B>
struct conditional {
  typedef A type;
};
template <class A, class B>
struct conditional<false, A, B> {
  typedef B type;
};
template <bool C, class A, class B>
using conditional_t = typename conditional<C, A, B>::type;
template <bool C, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool C, class T = void>
using enable_if_t = typename enable_if<C, T>::type;

template <class T, int N>
struct softmetal_vec;
#define SOFTMETAL_VEC(T)           \
  template <>                      \
  struct softmetal_vec<T, 2> {     \
    typedef T##2 type;             \
  };                               \
  template <>                      \
  struct softmetal_vec<T, 3> {     \
    typedef T##3 type;             \
  };                               \
  template <>                      \
  struct softmetal_vec<T, 4> {     \
    typedef T##4 type;             \
  };
SOFTMETAL_VEC(char)
SOFTMETAL_VEC(uchar)
SOFTMETAL_VEC(short)
SOFTMETAL_VEC(ushort)
SOFTMETAL_VEC(int)
SOFTMETAL_VEC(uint)
SOFTMETAL_VEC(long)
SOFTMETAL_VEC(ulong)
SOFTMETAL_VEC(half)
SOFTMETAL_VEC(float)
#undef SOFTMETAL_VEC
template <class T, int N>
using vec = typename softmetal_vec<T, N>::type;

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return INFINITY; }
  static constexpr float quiet_NaN() { return NAN; }
  static constexpr float max() { return FLT_MAX; }
  static constexpr float min() { return FLT_MIN; }
  static constexpr float lowest() { return -FLT_MAX; }
  static constexpr float epsilon() { return FLT_EPSILON; }
};
template <>
struct numeric_limits<half> {
  static constexpr half infinity() { return half(INFINITY); }
  static constexpr half quiet_NaN() { return half(NAN); }
  static constexpr half max() { return half(65504.0f); }
  static constexpr half lowest() { return half(-65504.0f); }
};
template <>
struct numeric_limits<int> {
  static constexpr int max() { return INT_MAX; }
  static constexpr int min() { return INT_MIN; }
};
template <>
struct numeric_limits<uint> {
  static constexpr uint max() { return UINT_MAX; }
  static constexpr uint min() { return 0; }
};

}  // namespace metal

// Same size, same bits.
template <class T, class U>
inline T as_type(U v) {
  static_assert(sizeof(T) == sizeof(U), "as_type of another size");
  return __builtin_bit_cast(T, v);
}

#endif
