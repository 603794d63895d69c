// A tensor seen as [outer, length, inner], for functions along the middle one.
#pragma once

#include <cstdint>

namespace treadle::kernels {

struct Split {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t elements() const { return outer * length * inner; }
};

// Columns that kernels with inner > 1 work on at once.
inline constexpr std::int64_t kColumns = 256;

}  // namespace treadle::kernels
