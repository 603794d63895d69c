// The calls of Metal, in Objective-C++ without ARC and blocks. Each function leaves no autoreleased
// object behind. No header of the project that GCC cannot read after Foundation (fmt) is included.
#include "gpu/metal/api.hpp"

#include <unistd.h>

// Apple's AssertMacros.h would define `check` and `verify`.
#define __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES 0
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

namespace treadle::gpu::metal {
namespace {

class Pool {
 public:
  Pool() : pool_([[NSAutoreleasePool alloc] init]) {}
  ~Pool() { [pool_ drain]; }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  NSAutoreleasePool* pool_;
};

template <typename Object>
Owned<Object> owned(id object) {
  return Owned<Object>(reinterpret_cast<Object*>(object));
}
id object_of(const void* handle) {
  return reinterpret_cast<id>(const_cast<void*>(handle));
}
id<MTLDevice> device_of(const DeviceObject* d) {
  return object_of(d);
}
id<MTLBuffer> buffer_of(const BufferObject* b) {
  return object_of(b);
}
id<MTLComputeCommandEncoder> encoder_of(EncoderObject* e) {
  return object_of(e);
}
id<MTLCommandBuffer> commands_of(CommandsObject* c) {
  return object_of(c);
}
id<MTLBinaryArchive> archive_of(ArchiveObject* a) {
  return object_of(a);
}

NSString* ns(const std::string& text) {
  return [NSString stringWithUTF8String:text.c_str()];
}
std::string text_of(NSString* text) {
  const char* bytes = [text UTF8String];
  return bytes ? bytes : "";
}
std::string text_of(NSError* error) {
  return error ? text_of([error localizedDescription]) : "no reason given";
}
NSURL* file_url(const std::string& path) {
  return [NSURL fileURLWithPath:ns(path)];
}

constexpr MTLResourceOptions kShared =
    MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked;

// The library of the text; what the compiler said in `error`.
id<MTLLibrary> new_library(id<MTLDevice> device, const std::string& source, std::string& error) {
  MTLCompileOptions* options = [[[MTLCompileOptions alloc] init] autorelease];
  [options setLanguageVersion:MTLLanguageVersion2_4];
  [options setFastMathEnabled:NO];
  NSError* failure = nil;
  id<MTLLibrary> library = [device newLibraryWithSource:ns(source) options:options error:&failure];
  if (!library) error = text_of(failure);
  return [library autorelease];
}

bool add_to_archive(id<MTLBinaryArchive> archive, MTLComputePipelineDescriptor* what,
                    std::string& error) {
  NSError* failure = nil;
  if ([archive addComputePipelineFunctionsWithDescriptor:what error:&failure]) return true;
  error = "adding it to the archive: " + text_of(failure);
  return false;
}

}  // namespace

void Release::operator()(void* object) const noexcept {
  const Pool pool;
  [object_of(object) release];
}

Owned<DeviceObject> system_device() {
  const Pool pool;
  return owned<DeviceObject>(MTLCreateSystemDefaultDevice());
}

DeviceFacts facts_of(const DeviceObject* device) {
  const Pool pool;
  id<MTLDevice> d = device_of(device);
  DeviceFacts facts;
  facts.name = text_of([d name]);
  facts.apple7 = [d supportsFamily:MTLGPUFamilyApple7] == YES;
  facts.largest_buffer = [d maxBufferLength];
  facts.working_set = static_cast<std::size_t>([d recommendedMaxWorkingSetSize]);
  return facts;
}

std::size_t allocated_bytes(const DeviceObject* device) {
  return [device_of(device) currentAllocatedSize];
}

Owned<BufferObject> new_buffer(DeviceObject* device, std::size_t bytes) {
  const Pool pool;
  return owned<BufferObject>([device_of(device) newBufferWithLength:bytes options:kShared]);
}

Owned<BufferObject> wrap_pages(DeviceObject* device, void* data, std::size_t bytes) {
  const Pool pool;
  return owned<BufferObject>([device_of(device) newBufferWithBytesNoCopy:data
                                                                  length:bytes
                                                                 options:kShared
                                                             deallocator:nil]);
}

void* contents(const BufferObject* buffer) {
  return [buffer_of(buffer) contents];
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Owned<ArchiveObject> open_archive(DeviceObject* device, const std::string& path,
                                  std::string& error) {
  const Pool pool;
  MTLBinaryArchiveDescriptor* what = [[[MTLBinaryArchiveDescriptor alloc] init] autorelease];
  if ([[NSFileManager defaultManager] fileExistsAtPath:ns(path)]) [what setUrl:file_url(path)];
  NSError* failure = nil;
  id<MTLBinaryArchive> archive = [device_of(device) newBinaryArchiveWithDescriptor:what
                                                                             error:&failure];
  if (!archive) error = text_of(failure);
  return owned<ArchiveObject>(archive);
}

bool save_archive(ArchiveObject* archive, const std::string& path, std::string& error) {
  const Pool pool;
  NSError* failure = nil;
  if ([archive_of(archive) serializeToURL:file_url(path) error:&failure]) return true;
  error = text_of(failure);
  return false;
}

Owned<PipelineObject> new_pipeline(DeviceObject* device, const std::string& source,
                                   const char* name, ArchiveObject* archive, PipelineFacts& facts,
                                   std::string& error) {
  const Pool pool;
  id<MTLDevice> d = device_of(device);
  id<MTLLibrary> library = new_library(d, source, error);
  if (!library) return nullptr;
  id<MTLFunction> function = [[library newFunctionWithName:ns(name)] autorelease];
  if (!function) {
    error = "the compiled text has no such function";
    return nullptr;
  }
  MTLComputePipelineDescriptor* what = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [what setLabel:ns(name)];
  [what setComputeFunction:function];
  id<MTLComputePipelineState> pipeline = nil;
  NSError* failure = nil;
  if (archive) {
    [what setBinaryArchives:[NSArray arrayWithObject:archive_of(archive)]];
    pipeline = [d newComputePipelineStateWithDescriptor:what
                                                options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                             reflection:nullptr
                                                  error:&failure];
    if (!pipeline) {
      if (!add_to_archive(archive_of(archive), what, error)) return nullptr;
      facts.added = true;
      failure = nil;
    }
  }
  if (!pipeline) {
    pipeline = [d newComputePipelineStateWithDescriptor:what
                                                options:MTLPipelineOptionNone
                                             reflection:nullptr
                                                  error:&failure];
  }
  if (!pipeline) {
    error = text_of(failure);
    return nullptr;
  }
  facts.threads = [pipeline maxTotalThreadsPerThreadgroup];
  facts.simd_width = [pipeline threadExecutionWidth];
  return owned<PipelineObject>(pipeline);
}

Owned<QueueObject> new_queue(DeviceObject* device) {
  const Pool pool;
  return owned<QueueObject>([device_of(device) newCommandQueue]);
}

Owned<CommandsObject> new_commands(QueueObject* queue) {
  const Pool pool;
  id<MTLCommandQueue> q = object_of(queue);
  return owned<CommandsObject>([[q commandBuffer] retain]);
}

Owned<EncoderObject> new_encoder(CommandsObject* commands) {
  const Pool pool;
  return owned<EncoderObject>([[commands_of(commands)
      computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent] retain]);
}

void set_pipeline(EncoderObject* encoder, const PipelineObject* pipeline) {
  [encoder_of(encoder) setComputePipelineState:object_of(pipeline)];
}

void set_buffer(EncoderObject* encoder, const BufferObject* buffer, std::size_t offset,
                std::size_t index) {
  [encoder_of(encoder) setBuffer:buffer_of(buffer) offset:offset atIndex:index];
}

void set_bytes(EncoderObject* encoder, const void* data, std::size_t bytes, std::size_t index) {
  [encoder_of(encoder) setBytes:data length:bytes atIndex:index];
}

void barrier(EncoderObject* encoder) {
  [encoder_of(encoder) memoryBarrierWithScope:MTLBarrierScopeBuffers];
}

void dispatch(EncoderObject* encoder, const Size3& groups, const Size3& threads) {
  [encoder_of(encoder) dispatchThreadgroups:MTLSizeMake(groups.x, groups.y, groups.z)
                      threadsPerThreadgroup:MTLSizeMake(threads.x, threads.y, threads.z)];
}

void end_encoding(EncoderObject* encoder) {
  [encoder_of(encoder) endEncoding];
}

bool run(CommandsObject* commands, std::string& error) {
  const Pool pool;
  id<MTLCommandBuffer> c = commands_of(commands);
  [c commit];
  [c waitUntilCompleted];
  if ([c status] == MTLCommandBufferStatusCompleted) return true;
  error = text_of([c error]);
  return false;
}

}  // namespace treadle::gpu::metal
