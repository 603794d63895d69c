// Launching kernels: what the devices of this module share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/device.hpp"

namespace treadle::gpu {

// Every kernel of kernels/list.inc, in its order.
enum class KernelId : std::uint16_t {
#define TK_ENTRY(name, ...) name,
#include "gpu/kernels/list.inc"
#undef TK_ENTRY
  kCount
};

struct KernelInfo {
  const char* name;          // of the entry in the fat binary and the MSL text
  int buffers;               // TK_IN and TK_OUT of its line, without TK_STATUS
  std::uint32_t written;     // bit i: buffer i is TK_OUT
  std::size_t param_bytes;   // of its parameter struct
  std::size_t shared_bytes;  // of its shared-memory struct, 0 for none
  bool barriers;             // false: no barrier, no warp operation, no shared memory
  bool reports;              // after its buffers it takes the address of a tk_status of the queue
  int max_threads;           // in a group
};
const KernelInfo& kernel_info(KernelId id);

struct Extent3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

inline constexpr int kMaxBuffers = 8;
inline constexpr std::size_t kMaxParamBytes = 512;

// The limits that every device keeps: groups.x < 2^31, groups.y and groups.z <= 65535, threads in a
// group <= max_threads of the kernel and threads.z <= 64; a multiple of 32 threads where the kernel
// has barriers. A launch with an extent of 0 is an error.
struct Launch {
  KernelId kernel = KernelId::kCount;
  Extent3 groups, threads;
  std::array<DeviceAddress, kMaxBuffers> buffers{};
  int buffer_count = 0;
  const void* params = nullptr;  // copied by launch()
  std::size_t param_bytes = 0;
  // The step it belongs to, for errors; must outlive the queue's next sync, and the recording that
  // the launch is part of.
  const char* label = "";
};

template <typename P>
Launch make_launch(KernelId kernel, Extent3 groups, Extent3 threads,
                   std::initializer_list<DeviceAddress> buffers, const P& params,
                   const char* label) {
  static_assert(sizeof(P) <= kMaxParamBytes);
  Launch l{kernel, groups, threads, {}, 0, &params, sizeof(P), label};
  for (const DeviceAddress b : buffers) l.buffers[static_cast<std::size_t>(l.buffer_count++)] = b;
  return l;
}

class Queue : public DeviceQueue {
 public:
  // Throws Error when the launch does not fit the kernel (buffer count, parameter bytes, limits).
  virtual void launch(const Launch& launch) = 0;
};

// The first and the last launch since the last sync(), for the text of a fault.
class LaunchSpan {
 public:
  void add(const Launch& launch) {
    if (!first_) first_ = launch.label;
    last_ = launch.label;
  }
  void clear() { first_ = last_ = nullptr; }
  // "waiting for its commands, the first of them for node 'a', the last for node 'b'".
  std::string waiting() const;

 private:
  const char *first_ = nullptr, *last_ = nullptr;
};

// Throws Internal error unless the launch fits the kernel and the limits; for the devices.
void check_launch(const Launch& launch);

// The simulated device: the kernels as plain C++ on this CPU.
struct SimOptions {
  // 0: threads of a group in order. Others: a greedy random order drawn from this seed, which finds
  // missing barriers that the fair order hides.
  std::uint32_t seed = 0;
  // Threads of this CPU that share the groups of a launch; 0: one a core.
  int threads = 0;
};
std::shared_ptr<Device> make_sim_device(const SimOptions& options = {});

// Device `ordinal` of the CUDA driver. Throws Error (kind Device) that says what is missing: the
// driver library, a device, or an architecture that this build has kernels for.
std::shared_ptr<Device> make_cuda_device(int ordinal = 0);
// Why there is no CUDA device, or empty. Never throws; loads the driver library when it is there.
std::string why_no_cuda();
// The architectures in this build's fat binary, "sm_80 sm_90a compute_90"; empty: built without.
std::string_view cuda_architectures();

struct MetalOptions {
  // A file that keeps compiled kernels for the next process (MTLBinaryArchive); empty: none. It is
  // read when the device is made and written by a sync() after kernels were compiled; when that
  // fails, a warning on stderr says so once.
  std::string archive;
  // Kernels of Metal's own where there are some; false: the portable ones, their reference.
  bool own_kernels = true;
};
// The system's Metal device; one object for as long as one with these options is in use. Throws
// Error (kind Device) that says what is missing.
std::shared_ptr<Device> make_metal_device(const MetalOptions& options = {});
// Why there is no Metal device, or empty. Never throws.
std::string why_no_metal();
// "Apple M1"; empty where there is none.
std::string metal_device_name();

}  // namespace treadle::gpu
