// Places values with known lifetimes in one block of memory.
#pragma once

#include <cstdint>
#include <vector>

namespace treadle {

struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0, last = 0;  // steps, both included
  std::int64_t offset = 0;  // the result, a multiple of 64
};

struct ArenaLayout {
  std::int64_t bytes = 0;
  std::int64_t lower_bound = 0;  // the largest sum of bytes alive at one step
};

// Sets the offsets so that values alive at the same step do not overlap: walks the steps and gives
// each new value the smallest gap that it fits (best fit), or the end. O(n · gaps).
ArenaLayout plan_memory(std::vector<Lifetime>& values);

}  // namespace treadle
