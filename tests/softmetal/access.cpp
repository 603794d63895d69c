#include "access.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "fault.hpp"
#include "memory.hpp"

namespace softmetal {

namespace {

thread_local const Access* current_access = nullptr;

[[noreturn]] void conflict(const Access& access, const Access::Region& region, std::uintptr_t at,
                           bool write, std::uint16_t other, bool other_wrote) {
  fault((*access.names)[access.number - 1u] + (write ? " writes" : " reads") + " byte " +
        std::to_string(at - region.begin) + " of " + region.buffer->describe() + ", which " +
        (*access.names)[other - 1u] + (other_wrote ? " wrote" : " read") +
        ", without a barrier between them");
}

}  // namespace

Shadow::Shadow(std::size_t bytes) : bytes_(bytes) {
  void* p = mmap(nullptr, 6 * bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) fault("no memory");
  planes_ = static_cast<std::uint16_t*>(p);
}

Shadow::~Shadow() {
  munmap(planes_, 6 * bytes_);
}

void Shadow::clear() {
  madvise(planes_, 6 * bytes_, MADV_DONTNEED);
}

void Access::touch(std::uintptr_t address, std::size_t bytes, bool write) const {
  for (const Region& r : regions) {
    if (address < r.begin || address >= r.end) continue;
    const std::size_t from = address - r.begin, to = std::min(from + bytes, r.end - r.begin);
    std::uint16_t* writers = r.shadow->writers();
    std::uint16_t* first = r.shadow->first_readers();
    std::uint16_t* last = r.shadow->last_readers();
    const auto unordered = [&](std::uint16_t other) { return other >= r.since && other != number; };
    for (std::size_t i = from; i < to; ++i) {
      if (unordered(writers[i])) conflict(*this, r, r.begin + i, write, writers[i], true);
      if (write) {
        if (unordered(first[i])) conflict(*this, r, r.begin + i, write, first[i], false);
        if (unordered(last[i])) conflict(*this, r, r.begin + i, write, last[i], false);
        writers[i] = number;
      } else {
        if (first[i] < r.since) first[i] = number;
        last[i] = number;
      }
    }
    return;
  }
}

void set_access(const Access* access) {
  current_access = access;
}

}  // namespace softmetal

// Groups on several threads write the same numbers, or a conflict is found by one of them.
#define SOFTMETAL_ACCESS(bytes)                                                             \
  [[gnu::visibility("default")]] void softmetal_load##bytes##_noabort(std::uintptr_t at) {  \
    if (softmetal::current_access) softmetal::current_access->touch(at, bytes, false);      \
  }                                                                                         \
  [[gnu::visibility("default")]] void softmetal_store##bytes##_noabort(std::uintptr_t at) { \
    if (softmetal::current_access) softmetal::current_access->touch(at, bytes, true);       \
  }
extern "C" {
SOFTMETAL_ACCESS(1)
SOFTMETAL_ACCESS(2)
SOFTMETAL_ACCESS(4)
SOFTMETAL_ACCESS(8)
SOFTMETAL_ACCESS(16)
[[gnu::visibility("default")]] void softmetal_loadN_noabort(std::uintptr_t at, std::size_t bytes) {
  if (softmetal::current_access) softmetal::current_access->touch(at, bytes, false);
}
[[gnu::visibility("default")]] void softmetal_storeN_noabort(std::uintptr_t at, std::size_t bytes) {
  if (softmetal::current_access) softmetal::current_access->touch(at, bytes, true);
}
}
