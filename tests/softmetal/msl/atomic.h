// Atomic operations of the metal_stdlib stand-in: relaxed, as Metal has them.
#pragma clang system_header
#ifndef SOFTMETAL_ATOMIC
#define SOFTMETAL_ATOMIC

#include "common.h"

namespace metal {

enum memory_order { memory_order_relaxed = 0 };

// atomic_int and atomic_uint are types that the compiler knows.
#define SOFTMETAL_ATOMIC_IN(space, A, T)                                                       \
  inline T atomic_load_explicit(volatile space A* p, memory_order) {                           \
    return __opencl_atomic_load(p, 0, 1);                                                      \
  }                                                                                            \
  inline void atomic_store_explicit(volatile space A* p, T v, memory_order) {                  \
    __opencl_atomic_store(p, v, 0, 1);                                                         \
  }                                                                                            \
  inline T atomic_exchange_explicit(volatile space A* p, T v, memory_order) {                  \
    return __opencl_atomic_exchange(p, v, 0, 1);                                               \
  }                                                                                            \
  inline T atomic_fetch_add_explicit(volatile space A* p, T v, memory_order) {                 \
    return __opencl_atomic_fetch_add(p, v, 0, 1);                                              \
  }                                                                                            \
  inline T atomic_fetch_sub_explicit(volatile space A* p, T v, memory_order) {                 \
    return __opencl_atomic_fetch_sub(p, v, 0, 1);                                              \
  }                                                                                            \
  inline T atomic_fetch_and_explicit(volatile space A* p, T v, memory_order) {                 \
    return __opencl_atomic_fetch_and(p, v, 0, 1);                                              \
  }                                                                                            \
  inline T atomic_fetch_or_explicit(volatile space A* p, T v, memory_order) {                  \
    return __opencl_atomic_fetch_or(p, v, 0, 1);                                               \
  }                                                                                            \
  inline T atomic_fetch_min_explicit(volatile space A* p, T v, memory_order) {                 \
    return __opencl_atomic_fetch_min(p, v, 0, 1);                                              \
  }                                                                                            \
  inline T atomic_fetch_max_explicit(volatile space A* p, T v, memory_order) {                 \
    return __opencl_atomic_fetch_max(p, v, 0, 1);                                              \
  }
SOFTMETAL_ATOMIC_IN(device, atomic_uint, uint)
SOFTMETAL_ATOMIC_IN(device, atomic_int, int)
SOFTMETAL_ATOMIC_IN(threadgroup, atomic_uint, uint)
SOFTMETAL_ATOMIC_IN(threadgroup, atomic_int, int)
#undef SOFTMETAL_ATOMIC_IN

}  // namespace metal

#endif
