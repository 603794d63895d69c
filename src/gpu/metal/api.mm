// The calls of Metal, in Objective-C++ without ARC and blocks. Each function leaves no autoreleased
// object behind. No header of the project that GCC cannot read after Foundation (fmt) is included.
#include "gpu/metal/api.hpp"

// Apple's AssertMacros.h would define `check` and `verify`.
#define __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES 0
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

namespace treadle::gpu::metal {
namespace {

constexpr NSUInteger kParamIndex = 10;  // of gpu/dialect/metal.hpp

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
MTLSize size_of(const Extent3& e) {
  return MTLSizeMake(e.x, e.y, e.z);
}

id<MTLLibrary> new_library(id<MTLDevice> device, const std::string& source, NSError** failure) {
  MTLCompileOptions* options = [[[MTLCompileOptions alloc] init] autorelease];
  [options setLanguageVersion:MTLLanguageVersion2_4];
  [options setFastMathEnabled:NO];
  return [[device newLibraryWithSource:ns(source) options:options error:failure] autorelease];
}

// From the archive, else compiled and added to it; null with the failure.
id<MTLComputePipelineState> new_state(id<MTLDevice> device, MTLComputePipelineDescriptor* what,
                                      id<MTLBinaryArchive> archive, bool& added,
                                      NSError** failure) {
  const auto make = [&](MTLPipelineOption options) {
    return [device newComputePipelineStateWithDescriptor:what
                                                 options:options
                                              reflection:nullptr
                                                   error:failure];
  };
  if (archive) {
    [what setBinaryArchives:[NSArray arrayWithObject:archive]];
    id<MTLComputePipelineState> found = make(MTLPipelineOptionFailOnBinaryArchiveMiss);
    if (found) return found;
    added = [archive addComputePipelineFunctionsWithDescriptor:what error:failure] == YES;
    if (!added) return nil;
  }
  return make(MTLPipelineOptionNone);
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
  id<MTLDevice> d = object_of(device);
  return {text_of([d name]), [d supportsFamily:MTLGPUFamilyApple7] == YES, [d maxBufferLength],
          static_cast<std::size_t>([d recommendedMaxWorkingSetSize]), [d currentAllocatedSize]};
}

Owned<BufferObject> new_buffer(DeviceObject* device, std::size_t bytes, void* pages) {
  const Pool pool;
  id<MTLDevice> d = object_of(device);
  const MTLResourceOptions options =
      MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked;
  if (!pages) return owned<BufferObject>([d newBufferWithLength:bytes options:options]);
  return owned<BufferObject>([d newBufferWithBytesNoCopy:pages
                                                  length:bytes
                                                 options:options
                                             deallocator:nil]);
}

void* contents(const BufferObject* buffer) {
  id<MTLBuffer> b = object_of(buffer);
  return [b contents];
}

Owned<ArchiveObject> open_archive(DeviceObject* device, const std::string& path,
                                  std::string& error) {
  const Pool pool;
  id<MTLDevice> d = object_of(device);
  MTLBinaryArchiveDescriptor* what = [[[MTLBinaryArchiveDescriptor alloc] init] autorelease];
  if ([[NSFileManager defaultManager] fileExistsAtPath:ns(path)]) {
    [what setUrl:[NSURL fileURLWithPath:ns(path)]];
  }
  NSError* failure = nil;
  id<MTLBinaryArchive> archive = [d newBinaryArchiveWithDescriptor:what error:&failure];
  if (!archive) error = text_of(failure);
  return owned<ArchiveObject>(archive);
}

std::string save_archive(ArchiveObject* archive, const std::string& path) {
  const Pool pool;
  id<MTLBinaryArchive> a = object_of(archive);
  NSError* failure = nil;
  return [a serializeToURL:[NSURL fileURLWithPath:ns(path)] error:&failure] ? "" : text_of(failure);
}

Pipeline new_pipeline(DeviceObject* device, const std::string& source, const char* name,
                      ArchiveObject* archive) {
  const Pool pool;
  Pipeline made;
  id<MTLDevice> d = object_of(device);
  NSError* failure = nil;
  id<MTLLibrary> library = new_library(d, source, &failure);
  id<MTLFunction> function = [[library newFunctionWithName:ns(name)] autorelease];
  id<MTLComputePipelineState> state = nil;
  if (function) {
    MTLComputePipelineDescriptor* what = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [what setLabel:ns(name)];
    [what setComputeFunction:function];
    state = new_state(d, what, object_of(archive), made.added, &failure);
  }
  if (!state) {
    made.error = library && !function ? "the compiled text has no such function" : text_of(failure);
    return made;
  }
  made.object = owned<PipelineObject>(state);
  made.threads = [state maxTotalThreadsPerThreadgroup];
  made.simd_width = [state threadExecutionWidth];
  return made;
}

Owned<QueueObject> new_queue(DeviceObject* device) {
  const Pool pool;
  id<MTLDevice> d = object_of(device);
  return owned<QueueObject>([d newCommandQueue]);
}

Commands new_commands(QueueObject* queue) {
  const Pool pool;
  id<MTLCommandQueue> q = object_of(queue);
  id<MTLCommandBuffer> buffer = [q commandBuffer];
  id<MTLComputeCommandEncoder> encoder =
      [buffer computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
  return {owned<CommandsObject>([buffer retain]), owned<EncoderObject>([encoder retain])};
}

void encode(Commands& commands, const Dispatch& d) {
  id<MTLComputeCommandEncoder> e = object_of(commands.encoder.get());
  [e setComputePipelineState:object_of(d.pipeline)];
  for (std::size_t i = 0; i < d.buffers; ++i) {
    [e setBuffer:object_of(d.objects[i]) offset:d.offsets[i] atIndex:i];
  }
  [e setBytes:d.params.data() length:d.launch.param_bytes atIndex:kParamIndex];
  [e dispatchThreadgroups:size_of(d.launch.groups)
      threadsPerThreadgroup:size_of(d.launch.threads)];
}

void barrier(Commands& commands) {
  id<MTLComputeCommandEncoder> e = object_of(commands.encoder.get());
  [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
}

void end_encoding(Commands& commands) {
  id<MTLComputeCommandEncoder> e = object_of(commands.encoder.get());
  [e endEncoding];
  commands.encoder = nullptr;
}

std::string run(Commands& commands) {
  const Pool pool;
  end_encoding(commands);
  id<MTLCommandBuffer> c = object_of(commands.buffer.get());
  [c commit];
  [c waitUntilCompleted];
  return [c status] == MTLCommandBufferStatusCompleted ? "" : text_of([c error]);
}

}  // namespace treadle::gpu::metal
