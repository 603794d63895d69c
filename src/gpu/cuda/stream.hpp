// The queue of a CUDA device: one stream, recordings as CUDA graphs.
#pragma once

#include <memory>

#include "gpu/cuda/context.hpp"

namespace treadle::gpu::cuda {

std::unique_ptr<Queue> make_stream_queue(std::shared_ptr<DeviceContext> context);

}  // namespace treadle::gpu::cuda
