// Lowering to a device: nodes go there where a kernel takes them, the rest stays on the CPU.
#pragma once

#include <memory>

#include "graph/graph.hpp"
#include "plan/device.hpp"
#include "plan/program.hpp"

namespace treadle::gpu {

// Lowers a simplified graph in channels-last form. `device` is one of gpu/queue.hpp. Errors as
// cpu::lower.
std::shared_ptr<const Program> lower(Graph graph, const LowerOptions& options,
                                     std::shared_ptr<Device> device);

// "sim", "cuda", "cuda:1", "metal": the device of that name. Throws Error: Parse for another name,
// Device when there is none.
std::shared_ptr<Device> device_from_name(std::string_view target);

}  // namespace treadle::gpu
