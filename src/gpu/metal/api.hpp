// What the backend asks of Metal, as plain C++: api.mm alone is Objective-C++. So the rest may use
// exceptions and formatting, which GCC's and Debian's clang's Objective-C++ do not take together
// with GNUstep. Nothing here throws; failures are null or a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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
};
DeviceFacts facts_of(const DeviceObject* device);
// Bytes of all resources that this process has on the device.
std::size_t allocated_bytes(const DeviceObject* device);

// Memory that host and device share; null when there is none left. Hazards are not tracked by
// Metal: the queue puts the barriers.
Owned<BufferObject> new_buffer(DeviceObject* device, std::size_t bytes);
// The pages at `data` themselves; both must be multiples of page_bytes(). Null when refused.
Owned<BufferObject> wrap_pages(DeviceObject* device, void* data, std::size_t bytes);
void* contents(const BufferObject* buffer);
std::size_t page_bytes();

// A cache of compiled pipelines in the file `path`: what is there is read, a file that is not there
// is an empty one. Null with a text in `error`.
Owned<ArchiveObject> open_archive(DeviceObject* device, const std::string& path,
                                  std::string& error);
// Writes it; false with a text in `error`.
bool save_archive(ArchiveObject* archive, const std::string& path, std::string& error);

struct PipelineFacts {
  std::size_t threads = 0;  // most in a group
  std::size_t simd_width = 0;
  bool added = false;  // to the archive, by this call
};
// The function `name` of the MSL text `source`, compiled without fast math; looked up in `archive`
// (may be null) or added to it. Null with the compiler's log in `error`.
Owned<PipelineObject> new_pipeline(DeviceObject* device, const std::string& source,
                                   const char* name, ArchiveObject* archive, PipelineFacts& facts,
                                   std::string& error);

Owned<QueueObject> new_queue(DeviceObject* device);
Owned<CommandsObject> new_commands(QueueObject* queue);
// One compute encoder, whose dispatches run side by side but for barriers.
Owned<EncoderObject> new_encoder(CommandsObject* commands);

void set_pipeline(EncoderObject* encoder, const PipelineObject* pipeline);
void set_buffer(EncoderObject* encoder, const BufferObject* buffer, std::size_t offset,
                std::size_t index);
void set_bytes(EncoderObject* encoder, const void* data, std::size_t bytes, std::size_t index);
// What is dispatched after it sees what was written to buffers before it.
void barrier(EncoderObject* encoder);
struct Size3 {
  std::size_t x = 1, y = 1, z = 1;
};
void dispatch(EncoderObject* encoder, const Size3& groups, const Size3& threads);
void end_encoding(EncoderObject* encoder);
// Commits and waits; false with a text in `error`.
bool run(CommandsObject* commands, std::string& error);

}  // namespace treadle::gpu::metal
