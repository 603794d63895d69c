// Counts the allocator's calls in this program; linked into the executable only.
#pragma once

#include "cli/process.hpp"

namespace treadle::cli {

// Null where allocations are not counted.
AllocationCounter allocation_counter();

}  // namespace treadle::cli
