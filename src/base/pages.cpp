#include "base/pages.hpp"

#include <sys/mman.h>

namespace treadle {

void* map_pages(std::size_t bytes) noexcept {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void expect_writes([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
  // A system that does not know this advice gives the pages one by one as they are written.
  if (bytes >= kMapFrom) ::madvise(p, bytes, MADV_POPULATE_WRITE);
#endif
}

void unmap_pages(void* p, std::size_t bytes) noexcept {
  ::munmap(p, bytes);
}

}  // namespace treadle
