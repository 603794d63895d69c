// The CUDA device, see make_cuda_device in gpu/queue.hpp.
#pragma once

#include <string>
#include <vector>

namespace treadle::gpu::cuda {

// "NVIDIA H200 (sm_90, 139 GiB)" by ordinal; empty without a driver. Makes no context.
std::vector<std::string> device_names();

}  // namespace treadle::gpu::cuda
