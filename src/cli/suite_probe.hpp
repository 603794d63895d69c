// Calibration: a loop whose speed says how fast the machine is right now.
#pragma once

#include <string>

#include "cli/suite_plan.hpp"

namespace treadle::cli {

// For about 30 ms on each of `threads` threads: fused multiply-adds for the CPU and sim, copies to
// and from the device for another target. Where the device cannot be used from this process, the
// CPU's loop.
Probe calibrate(const std::string& target, int threads);

// The copies alone, for any device ("sim" too). Throws Error as gpu::device_from_name.
Probe calibrate_copies(const std::string& target);

}  // namespace treadle::cli
