// Memory straight from the system, for large buffers: it goes back at once when it is freed.
#pragma once

#include <cstddef>

namespace treadle {

// Buffers from this size on are to be mapped; not where AddressSanitizer watches, which sees only
// the ends of heap blocks.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kMapFrom = ~std::size_t{0};
#else
inline constexpr std::size_t kMapFrom = 256 << 10;
#endif

// Zeroed, at a page's start; null when the system refuses.
void* map_pages(std::size_t bytes) noexcept;
// Says that all of a buffer is about to be written, so that the system may give all its pages at
// one go. Does nothing for buffers that are not mapped.
void expect_writes(void* p, std::size_t bytes) noexcept;
// What map_pages() gave for as many bytes.
void unmap_pages(void* p, std::size_t bytes) noexcept;

}  // namespace treadle
