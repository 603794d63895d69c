// What the backend asks of Metal, as plain C++: api.mm alone is Objective-C++. So the rest may use
// exceptions and formatting, which GCC's and Debian's clang's Objective-C++ do not take together
// with GNUstep. Nothing here throws; failures are null with a text.
#pragma once

#include <string>

#include "gpu/queue.hpp"

namespace treadle::gpu::metal {

// Objects of Metal, counted by reference; a raw pointer is borrowed.
using DeviceObject = struct MetalDeviceObject;      // id<MTLDevice>
using BufferObject = struct MetalBufferObject;      // id<MTLBuffer>
using QueueObject = struct MetalQueueObject;        // id<MTLCommandQueue>
using CommandsObject = struct MetalCommandsObject;  // id<MTLCommandBuffer>
using EncoderObject = struct MetalEncoderObject;    // id<MTLComputeCommandEncoder>
using PipelineObject = struct MetalPipelineObject;  // id<MTLComputePipelineState>
using ArchiveObject = struct MetalArchiveObject;    // id<MTLBinaryArchive>

struct Release {
  void operator()(void* object) const noexcept;
};
template <typename Object>
using Owned = std::unique_ptr<Object, Release>;

// The device of this system, or null.
Owned<DeviceObject> system_device();

struct DeviceFacts {
  std::string name;
  bool apple7 = false;             // MTLGPUFamilyApple7: M1, A14 and later
  std::size_t largest_buffer = 0;  // bytes
  std::size_t working_set = 0;     // bytes that it is recommended to stay below
  std::size_t allocated = 0;       // bytes of all resources that this process has there now
};
// All zero for null.
DeviceFacts facts_of(const DeviceObject* device);

// Memory that host and device share, or the pages at `pages` themselves; null when refused. Metal
// does not track hazards: the queue puts the barriers.
Owned<BufferObject> new_buffer(DeviceObject* device, std::size_t bytes, void* pages = nullptr);
void* contents(const BufferObject* buffer);

// A cache of compiled pipelines in the file `path`: what is there is read, a file that is not there
// is an empty one. Null with a text in `error`.
Owned<ArchiveObject> open_archive(DeviceObject* device, const std::string& path,
                                  std::string& error);
// What went wrong; empty: it is written.
std::string save_archive(ArchiveObject* archive, const std::string& path);

struct Pipeline {
  Owned<PipelineObject> object;  // null: see error
  std::string error;             // the compiler's log
  std::size_t threads = 0;       // most in a group
  std::size_t simd_width = 0;
  bool added = false;  // to the archive
};
// The function `name` of the MSL text `source`, compiled without fast math; looked up in `archive`
// (may be null) or added to it.
Pipeline new_pipeline(DeviceObject* device, const std::string& source, const char* name,
                      ArchiveObject* archive);

Owned<QueueObject> new_queue(DeviceObject* device);

// A command buffer with one compute encoder, whose dispatches run side by side but for barriers.
struct Commands {
  Owned<CommandsObject> buffer;
  Owned<EncoderObject> encoder;  // null: refused, or ended
};
Commands new_commands(QueueObject* queue);

struct Dispatch {
  const PipelineObject* pipeline = nullptr;
  Launch launch;  // its params are those below
  std::size_t buffers = 0;
  std::array<const BufferObject*, kMaxBuffers + 1> objects{};  // at [[buffer(0)]] and on
  std::array<std::size_t, kMaxBuffers + 1> offsets{};
  alignas(16) std::array<std::byte, kMaxParamBytes> params;  // at [[buffer(10)]]
};
void encode(Commands& commands, const Dispatch& dispatch);
// What is dispatched after it sees what was written to buffers before it.
void barrier(Commands& commands);
void end_encoding(Commands& commands);
// Ends, commits and waits. What went wrong, or empty.
std::string run(Commands& commands);

}  // namespace treadle::gpu::metal
