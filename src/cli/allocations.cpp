// Takes the place of the C library's malloc family and passes on to it. operator new goes through
// malloc, so that it is counted too.
#include "cli/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#if defined(__GLIBC__) && !defined(TREADLE_NO_ALLOCATION_COUNT)

namespace {

std::atomic<std::int64_t> calls{0};
void count() {
  calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) noexcept {
  count();
  return __libc_malloc(size);
}

void* calloc(std::size_t n, std::size_t size) noexcept {
  count();
  return __libc_calloc(n, size);
}

void* realloc(void* p, std::size_t size) noexcept {
  count();
  return __libc_realloc(p, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count();
  return __libc_memalign(alignment, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
    return EINVAL;
  count();
  void* p = __libc_memalign(alignment, size);
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

}  // extern "C"

namespace treadle::cli {

AllocationCounter allocation_counter() {
  return [] { return calls.load(std::memory_order_relaxed); };
}

}  // namespace treadle::cli

#else

namespace treadle::cli {

AllocationCounter allocation_counter() {
  return nullptr;
}

}  // namespace treadle::cli

#endif
