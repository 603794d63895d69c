#include "base/pages.hpp"

#include <sys/mman.h>

namespace treadle {

void* map_pages(std::size_t bytes) noexcept {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  // Advice only: a system without large pages refuses it.
  ::madvise(p, bytes, MADV_HUGEPAGE);
#endif
  return p;
}

void unmap_pages(void* p, std::size_t bytes) noexcept {
  ::munmap(p, bytes);
}

}  // namespace treadle
