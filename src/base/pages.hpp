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

// Zeroed, at a page's start, of large pages where the system has some; null when it refuses.
void* map_pages(std::size_t bytes) noexcept;
// What map_pages() gave for as many bytes.
void unmap_pages(void* p, std::size_t bytes) noexcept;

}  // namespace treadle
