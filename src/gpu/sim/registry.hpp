// The kernels of kernels/list.inc, compiled for the host.
#pragma once

#include "gpu/queue.hpp"
#include "gpu/sim/fiber_api.hpp"

namespace treadle::gpu::sim {

const SimKernel& sim_kernel(KernelId id);

}  // namespace treadle::gpu::sim
