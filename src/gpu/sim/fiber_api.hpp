// What a kernel on the sim device may ask for while it runs; each function suspends or checks the
// simulated thread that calls it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>

namespace tk {
struct tk_ctx;
}

namespace treadle::gpu::sim {

struct KernelArguments {
  void* const* buffers;
  const void* params;
  void* shared;
};

// A kernel compiled for the host: one thread, and all threads of a group in their order (for
// kernels without barriers and warp operations).
struct SimKernel {
  void (*thread)(const tk::tk_ctx&, const KernelArguments&);
  void (*group)(tk::tk_ctx, const KernelArguments&);
};

// Throw Error (kind Internal), at the latest when the group ends, when threads wait at different
// places.
void barrier(const std::source_location& at);
// The 32 values of the caller's warp.
std::array<std::uint32_t, 32> exchange(std::uint32_t value, const std::source_location& at);

// Copies are made by the wait, not before, so that a missing wait is seen.
void async_copy16(void* to, const void* from, bool take);
void async_commit();
void async_wait(int unfinished);

// Throws Error (kind Internal) unless the address is a multiple of `bytes`.
void check_aligned(const void* pointer, std::size_t bytes);

}  // namespace treadle::gpu::sim
