// What the Metal shading language has without an #include: its address spaces and scalar types, in
// clang's C++ for OpenCL. See ../README.md.
#pragma clang system_header
#define device __global
#define threadgroup __local
#define thread __private
#define constant __constant
// Names that OpenCL reserves and Metal does not.
#define global softmetal_name_global
#define local softmetal_name_local
#define generic softmetal_name_generic
#define pipe softmetal_name_pipe
#define uniform softmetal_name_uniform
#define read_only softmetal_name_read_only
#define write_only softmetal_name_write_only
#define read_write softmetal_name_read_write
#define vec_step softmetal_name_vec_step
// Metal has no such types, OpenCL does.
#define double softmetal_no_such_type_double

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;

#define SOFTMETAL_VECTORS(T)                           \
  typedef T T##2 __attribute__((ext_vector_type(2)));  \
  typedef T T##3 __attribute__((ext_vector_type(3)));  \
  typedef T T##4 __attribute__((ext_vector_type(4)));
SOFTMETAL_VECTORS(char)
SOFTMETAL_VECTORS(uchar)
SOFTMETAL_VECTORS(short)
SOFTMETAL_VECTORS(ushort)
SOFTMETAL_VECTORS(int)
SOFTMETAL_VECTORS(uint)
SOFTMETAL_VECTORS(long)
SOFTMETAL_VECTORS(ulong)
SOFTMETAL_VECTORS(half)
SOFTMETAL_VECTORS(float)
#undef SOFTMETAL_VECTORS

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define MAXFLOAT 3.402823466e+38F
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define HALF_MAX half(65504.0f)
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_SQRT2_F 1.41421356237309504880f
#define M_LOG2E_F 1.44269504088896340736f
#define M_E_F 2.71828182845904523536f

// Functions of the program that runs the kernels; see ../group.cpp. What a thread gives to its simdgroup comes
// back as 32 values, 16 bytes apart.
struct softmetal_slots {
  ulong bytes[64];
};
extern "C" void softmetal_barrier(uint line);
extern "C" thread const softmetal_slots* softmetal_exchange(thread const void* value, uint bytes,
                                                            thread uint* active, uint line);
extern "C" uint softmetal_lane(void);
extern "C" ulong softmetal_threadgroup(uint index, ulong bytes);
// The sizes of threadgroup variables, noted where they are declared; the linker's names.
extern "C" {
extern __constant const ulong __start_softmetal_notes[] __attribute__((weak));
extern __constant const ulong __stop_softmetal_notes[] __attribute__((weak));
}

// Elements and their type, of scalars and vectors.
template <class T>
struct softmetal_type {
  typedef T element;
  enum { size = 1 };
};
#define SOFTMETAL_TYPE(T, N)         \
  template <>                        \
  struct softmetal_type<T##N> {      \
    typedef T element;               \
    enum { size = N };               \
  };
#define SOFTMETAL_TYPES(T) SOFTMETAL_TYPE(T, 2) SOFTMETAL_TYPE(T, 3) SOFTMETAL_TYPE(T, 4)
SOFTMETAL_TYPES(char)
SOFTMETAL_TYPES(uchar)
SOFTMETAL_TYPES(short)
SOFTMETAL_TYPES(ushort)
SOFTMETAL_TYPES(int)
SOFTMETAL_TYPES(uint)
SOFTMETAL_TYPES(long)
SOFTMETAL_TYPES(ulong)
SOFTMETAL_TYPES(half)
SOFTMETAL_TYPES(float)
#undef SOFTMETAL_TYPES
#undef SOFTMETAL_TYPE

template <class V, class T>
inline void softmetal_put(thread V& to, thread int& at, T from) {
  typedef typename softmetal_type<V>::element E;
  if constexpr (softmetal_type<T>::size == 1) {
    to[at++] = E(from);
  } else {
    for (int i = 0; i < softmetal_type<T>::size; ++i) to[at++] = E(from[i]);
  }
}
// Metal's V(a, b, …), which the translation of the text turns into softmetal_make<V>(a, b, …).
template <class V, class... A>
inline V softmetal_make(A... parts) {
  constexpr int given = (0 + ... + int(softmetal_type<A>::size));
  if constexpr (sizeof...(A) == 1 && given == 1) {
    return V((typename softmetal_type<V>::element(parts), ...));
  } else {
    static_assert(given == int(softmetal_type<V>::size), "elements of a vector constructor");
    V v;
    int at = 0;
    (softmetal_put(v, at, parts), ...);
    return v;
  }
}

// Where a thread is: filled by ../group.cpp. In the order of Position there.
struct softmetal_positions {
  uint3 v[12];
};
template <class T>
inline T softmetal_position(thread const softmetal_positions* p, int which) {
  const uint3 v = p->v[which];
  if constexpr (softmetal_type<T>::size == 1) {
    return T(v.x);
  } else {
    T r;
    for (int i = 0; i < softmetal_type<T>::size; ++i) r[i] = v[i];
    return r;
  }
}

template <class T>
struct softmetal_sizeof {
  enum : ulong { bytes = sizeof(T), alignment = alignof(T) };
};
#define SOFTMETAL_SIZEOF_VOID(space)             \
  template <>                                    \
  struct softmetal_sizeof<space void> {          \
    enum : ulong { bytes = 0, alignment = 1 };   \
  };                                             \
  template <>                                    \
  struct softmetal_sizeof<space const void> {    \
    enum : ulong { bytes = 0, alignment = 1 };   \
  };
SOFTMETAL_SIZEOF_VOID(device)
SOFTMETAL_SIZEOF_VOID(constant)
SOFTMETAL_SIZEOF_VOID(threadgroup)
#undef SOFTMETAL_SIZEOF_VOID
