// The queue of a Metal device.
#pragma once

#include <memory>

#include "gpu/metal/memory.hpp"
#include "gpu/metal/pipelines.hpp"

namespace treadle::gpu::metal {

// What buffers and queues keep alive. Members are let go in the reverse of this order.
struct Context {
  Owned<DeviceObject> device;
  DeviceFacts facts;
  std::shared_ptr<Memory> memory;
  std::unique_ptr<Pipelines> pipelines;
};

std::unique_ptr<Queue> make_queue(std::shared_ptr<Context> context);

}  // namespace treadle::gpu::metal
