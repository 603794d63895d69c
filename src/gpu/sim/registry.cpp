#include "gpu/sim/registry.hpp"

#include "base/error.hpp"

namespace treadle::gpu::sim {

#define TK_ENTRY(name, ...) extern const SimKernel kernel_##name;
#include "gpu/kernels/list.inc"
#undef TK_ENTRY

const SimKernel& sim_kernel(KernelId id) {
  switch (id) {
#define TK_ENTRY(name, ...) \
  case KernelId::name:      \
    return kernel_##name;
#include "gpu/kernels/list.inc"
#undef TK_ENTRY
    default:
      fail(ErrorKind::Internal, "sim: no kernel has the number {}", static_cast<int>(id));
  }
}

}  // namespace treadle::gpu::sim
