// Barriers, operations of simdgroups of 32 lanes and 8×8 matrices of the metal_stdlib stand-in.
#pragma clang system_header
#ifndef SOFTMETAL_SIMDGROUP
#define SOFTMETAL_SIMDGROUP

#include "common.h"

namespace metal {

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return mem_flags(int(a) | int(b));
}
inline void threadgroup_barrier(mem_flags, uint line = __builtin_LINE()) {
  softmetal_barrier(line);
}
inline void simdgroup_barrier(mem_flags, uint line = __builtin_LINE()) {
  uint active;
  softmetal_exchange(&active, 0, &active, line);
}

// The value of every lane; of those that have ended, `absent`.
template <class T>
struct softmetal_lanes {
  T v[32];
  uint active;
};
template <class T>
inline void softmetal_gather(T value, T absent, thread softmetal_lanes<T>& all, uint line) {
  static_assert(sizeof(T) <= 16, "a value of a simdgroup operation");
  thread const softmetal_slots* s = softmetal_exchange(&value, sizeof(T), &all.active, line);
  for (uint i = 0; i < 32; ++i) {
    all.v[i] = (all.active >> i & 1u) != 0 ? *(thread const T*)(s->bytes + 2 * i) : absent;
  }
}
// The value of the lane `from`, which Metal leaves undefined when that lane has ended: 0xff bytes.
template <class T>
inline T softmetal_from(T value, uint from, uint line) {
  uint active;
  thread const softmetal_slots* s = softmetal_exchange(&value, sizeof(T), &active, line);
  if (from < 32 && (active >> from & 1u) != 0) return *(thread const T*)(s->bytes + 2 * from);
  thread uchar* bytes = (thread uchar*)&value;
  for (uint i = 0; i < sizeof(T); ++i) bytes[i] = 0xff;
  return value;
}

template <class T>
inline T simd_shuffle(T v, ushort lane, uint line = __builtin_LINE()) {
  return softmetal_from(v, lane, line);
}
template <class T>
inline T simd_broadcast(T v, ushort lane, uint line = __builtin_LINE()) {
  return softmetal_from(v, lane, line);
}
template <class T>
inline T simd_broadcast_first(T v, uint line = __builtin_LINE()) {
  uint active;
  thread const softmetal_slots* s = softmetal_exchange(&v, sizeof(T), &active, line);
  return *(thread const T*)(s->bytes + 2 * __builtin_ctz(active));
}
template <class T>
inline T simd_shuffle_xor(T v, ushort mask, uint line = __builtin_LINE()) {
  return softmetal_from(v, softmetal_lane() ^ mask, line);
}
// Lanes without a source keep their own value.
template <class T>
inline T simd_shuffle_down(T v, ushort delta, uint line = __builtin_LINE()) {
  const uint from = softmetal_lane() + delta;
  return softmetal_from(v, from < 32 ? from : softmetal_lane(), line);
}
template <class T>
inline T simd_shuffle_up(T v, ushort delta, uint line = __builtin_LINE()) {
  const uint lane = softmetal_lane();
  return softmetal_from(v, lane >= delta ? lane - delta : lane, line);
}
template <class T>
inline T simd_shuffle_rotate_down(T v, ushort delta, uint line = __builtin_LINE()) {
  return softmetal_from(v, (softmetal_lane() + delta) & 31u, line);
}
template <class T>
inline T simd_shuffle_rotate_up(T v, ushort delta, uint line = __builtin_LINE()) {
  return softmetal_from(v, (softmetal_lane() - delta) & 31u, line);
}
template <class T>
inline T quad_shuffle(T v, ushort lane, uint line = __builtin_LINE()) {
  return softmetal_from(v, (softmetal_lane() & ~3u) + (lane & 3u), line);
}
template <class T>
inline T quad_broadcast(T v, ushort lane, uint line = __builtin_LINE()) {
  return softmetal_from(v, (softmetal_lane() & ~3u) + (lane & 3u), line);
}
template <class T>
inline T quad_shuffle_xor(T v, ushort mask, uint line = __builtin_LINE()) {
  return softmetal_from(v, softmetal_lane() ^ (mask & 3u), line);
}
template <class T>
inline T quad_sum(T v, uint line = __builtin_LINE()) {
  softmetal_lanes<T> all;
  softmetal_gather(v, T(0), all, line);
  const uint q = softmetal_lane() & ~3u;
  return (all.v[q] + all.v[q + 1]) + (all.v[q + 2] + all.v[q + 3]);
}

// Folds as a tree: the order is Metal's own affair.
#define SOFTMETAL_FOLD(name, absent, expression)                                       \
  template <class T>                                                                   \
  inline T name(T v, uint line = __builtin_LINE()) {                                   \
    softmetal_lanes<T> all;                                                            \
    softmetal_gather(v, T(absent), all, line);                                         \
    for (uint step = 16; step > 0; step >>= 1) {                                       \
      for (uint i = 0; i < step; ++i) {                                                \
        const T a = all.v[i], b = all.v[i + step];                                     \
        all.v[i] = expression;                                                         \
      }                                                                                \
    }                                                                                  \
    return all.v[0];                                                                   \
  }
SOFTMETAL_FOLD(simd_sum, 0, a + b)
SOFTMETAL_FOLD(simd_product, 1, a * b)
SOFTMETAL_FOLD(simd_max, v, max(a, b))
SOFTMETAL_FOLD(simd_min, v, min(a, b))
SOFTMETAL_FOLD(simd_and, v, a & b)
SOFTMETAL_FOLD(simd_or, 0, a | b)
SOFTMETAL_FOLD(simd_xor, 0, a ^ b)
#undef SOFTMETAL_FOLD
inline bool simd_any(bool v, uint line = __builtin_LINE()) {
  return simd_or(uint(v), line) != 0;
}
inline bool simd_all(bool v, uint line = __builtin_LINE()) {
  return simd_and(uint(v), line) != 0;
}
#define SOFTMETAL_PREFIX(name, first, operation, before)                               \
  template <class T>                                                                   \
  inline T name(T v, uint line = __builtin_LINE()) {                                   \
    softmetal_lanes<T> all;                                                            \
    softmetal_gather(v, T(first), all, line);                                          \
    T r = T(first);                                                                    \
    for (uint i = 0; i < softmetal_lane() + (before ? 0 : 1); ++i) r = r operation all.v[i]; \
    return r;                                                                          \
  }
SOFTMETAL_PREFIX(simd_prefix_exclusive_sum, 0, +, true)
SOFTMETAL_PREFIX(simd_prefix_inclusive_sum, 0, +, false)
SOFTMETAL_PREFIX(simd_prefix_exclusive_product, 1, *, true)
SOFTMETAL_PREFIX(simd_prefix_inclusive_product, 1, *, false)
#undef SOFTMETAL_PREFIX

// Each lane holds two neighbours of a row, by the map that is observed on Apple's GPUs.
template <class T, int Columns, int Rows>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "simdgroup matrices are 8 by 8");
  static_assert(is_same<T, float>::value || is_same<T, half>::value,
                "simdgroup matrices are of float or half");
  typedef vec<T, 2> storage;

  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    softmetal_elements.x = softmetal_row() == softmetal_column() ? diagonal : T(0);
    softmetal_elements.y = softmetal_row() == softmetal_column() + 1 ? diagonal : T(0);
  }
  thread storage& thread_elements() { return softmetal_elements; }

  static uint softmetal_row() {
    const uint lane = softmetal_lane();
    return (lane / 4 & 4) + lane / 2 % 4;
  }
  static uint softmetal_column() {
    const uint lane = softmetal_lane();
    return (lane / 4 & 2) * 2 + lane % 2 * 2;
  }
  storage softmetal_elements;
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;

template <class T, int Columns, int Rows>
inline simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Columns, Rows> m;
  m.softmetal_elements = value;
  return m;
}
#define SOFTMETAL_MATRIX_MEMORY(space)                                                           \
  template <class T>                                                                             \
  inline void simdgroup_load(thread simdgroup_matrix<T, 8, 8>& m, space const T* from,           \
                             ulong row_elements = 8, ulong2 origin = ulong2(0ul),                \
                             bool transpose = false, uint line = __builtin_LINE()) {             \
    const ulong r = m.softmetal_row(), c = m.softmetal_column();                                 \
    uint active;                                                                                 \
    softmetal_exchange(&active, 0, &active, line);                                               \
    for (ulong i = 0; i < 2; ++i) {                                                              \
      const ulong x = origin.x + (transpose ? r : c + i), y = origin.y + (transpose ? c + i : r); \
      m.softmetal_elements[i] = from[y * row_elements + x];                                      \
    }                                                                                            \
  }                                                                                              \
  template <class T>                                                                             \
  inline void simdgroup_store(simdgroup_matrix<T, 8, 8> m, space T* to, ulong row_elements = 8,  \
                              ulong2 origin = ulong2(0ul), bool transpose = false,               \
                              uint line = __builtin_LINE()) {                                    \
    const ulong r = m.softmetal_row(), c = m.softmetal_column();                                 \
    uint active;                                                                                 \
    softmetal_exchange(&active, 0, &active, line);                                               \
    for (ulong i = 0; i < 2; ++i) {                                                              \
      const ulong x = origin.x + (transpose ? r : c + i), y = origin.y + (transpose ? c + i : r); \
      to[y * row_elements + x] = m.softmetal_elements[i];                                        \
    }                                                                                            \
  }
SOFTMETAL_MATRIX_MEMORY(device)
SOFTMETAL_MATRIX_MEMORY(threadgroup)
template <class T>
inline void simdgroup_load(thread simdgroup_matrix<T, 8, 8>& m, constant const T* from,
                           ulong row_elements = 8, ulong2 origin = ulong2(0ul),
                           bool transpose = false, uint line = __builtin_LINE()) {
  const ulong r = m.softmetal_row(), c = m.softmetal_column();
  uint active;
  softmetal_exchange(&active, 0, &active, line);
  for (ulong i = 0; i < 2; ++i) {
    const ulong x = origin.x + (transpose ? r : c + i), y = origin.y + (transpose ? c + i : r);
    m.softmetal_elements[i] = from[y * row_elements + x];
  }
}
#undef SOFTMETAL_MATRIX_MEMORY

// d = a · b + c. Sums of float, rounded to the type of d at the end.
template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8>& d,
                                          simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b,
                                          simdgroup_matrix<C, 8, 8> c,
                                          uint line = __builtin_LINE()) {
  const float4 mine = {float(a.softmetal_elements.x), float(a.softmetal_elements.y),
                       float(b.softmetal_elements.x), float(b.softmetal_elements.y)};
  uint active;
  thread const float4* all =
      (thread const float4*)softmetal_exchange(&mine, sizeof(mine), &active, line)->bytes;
  const uint row = d.softmetal_row(), column = d.softmetal_column();
  float2 sum = {float(c.softmetal_elements.x), float(c.softmetal_elements.y)};
  for (uint k = 0; k < 8; ++k) {
    // The lanes that hold a[row][k] and b[k][column].
    const uint ka = (row & 4u) * 4 + (k & 4u) * 2 + (row & 3u) * 2 + (k >> 1 & 1u);
    const uint kb = (k & 4u) * 4 + (column & 4u) * 2 + (k & 3u) * 2 + (column >> 1 & 1u);
    const float x = (k & 1u) != 0 ? all[ka].y : all[ka].x;
    sum.x = __builtin_fmaf(x, all[kb].z, sum.x);
    sum.y = __builtin_fmaf(x, all[kb].w, sum.y);
  }
  d.softmetal_elements.x = D(sum.x);
  d.softmetal_elements.y = D(sum.y);
}
template <class D, class A, class B>
inline void simdgroup_multiply(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                               simdgroup_matrix<B, 8, 8> b, uint line = __builtin_LINE()) {
  simdgroup_multiply_accumulate(d, a, b, simdgroup_matrix<D, 8, 8>(D(0)), line);
}

}  // namespace metal

#endif
