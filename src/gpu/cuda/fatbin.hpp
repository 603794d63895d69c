// The compiled kernels inside this library: cmake/cuda.cmake puts them there when it finds nvcc.
#pragma once

#include <span>
#include <string_view>

namespace treadle::gpu::cuda {

// What cuModuleLoadData reads, one for each family of kernels; empty: built without.
std::span<const void* const> embedded_fatbins();

// Whether one of `architectures` ("sm_80 sm_90a compute_90") runs on a device of this compute
// capability: sm_XY on the same major and no lower minor number, with a suffix ("sm_90a") on that
// one alone; compute_XY, which the driver compiles when it loads it, on that and every later one.
bool runs_on(std::string_view architectures, int major, int minor);

}  // namespace treadle::gpu::cuda
