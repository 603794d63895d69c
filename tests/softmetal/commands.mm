// Command queues, command buffers and their encoders.
#include <cstring>

#include "fault.hpp"
#include "objects.hpp"

using softmetal::Binding;
using softmetal::Command;
using softmetal::CommandBuffer;
using softmetal::fault;

@interface SoftCommandBuffer : SoftObject <MTLCommandBuffer> {
 @public
  std::shared_ptr<CommandBuffer>* core;
  SoftQueue* queue;
  BOOL retains;
}
@end

// Of both kinds of encoders.
@interface SoftEncoder : SoftObject {
 @public
  std::shared_ptr<CommandBuffer>* core;
  MTLDispatchType type;
  BOOL ended;
}
@end

@interface SoftComputeEncoder : SoftEncoder <MTLComputeCommandEncoder> {
 @public
  Command* next;
}
@end

@interface SoftBlitEncoder : SoftEncoder <MTLBlitCommandEncoder>
@end

@implementation SoftQueue
- (void)dealloc {
  delete core;
  [super dealloc];
}
- (id<MTLCommandBuffer>)commandBufferThatRetains:(BOOL)retains {
  SoftCommandBuffer* buffer = [[[SoftCommandBuffer alloc] initWithDevice:device] autorelease];
  buffer->core =
      new std::shared_ptr<CommandBuffer>(std::make_shared<CommandBuffer>(*core, retains));
  buffer->queue = [self retain];
  buffer->retains = retains;
  return buffer;
}
- (id<MTLCommandBuffer>)commandBuffer {
  return [self commandBufferThatRetains:YES];
}
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  return [self commandBufferThatRetains:NO];
}
@end

@implementation SoftCommandBuffer
- (void)dealloc {
  // The device runs what was committed also when nobody waits.
  if ((*core)->state() == CommandBuffer::State::Committed) (*core)->wait();
  delete core;
  [queue release];
  [super dealloc];
}
- (id<MTLCommandQueue>)commandQueue {
  return queue;
}
- (BOOL)retainedReferences {
  return retains;
}
- (id)encoder:(Class)which type:(MTLDispatchType)type {
  (*core)->begin_encoder(type == MTLDispatchTypeConcurrent);
  SoftEncoder* encoder = [[[which alloc] initWithDevice:device] autorelease];
  encoder->core = new std::shared_ptr<CommandBuffer>(*core);
  encoder->type = type;
  return encoder;
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [self encoder:[SoftComputeEncoder class] type:MTLDispatchTypeSerial];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type {
  return [self encoder:[SoftComputeEncoder class] type:type];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  return [self encoder:[SoftBlitEncoder class] type:MTLDispatchTypeSerial];
}
- (void)enqueue {
  (*core)->check_open("enqueue");
}
- (void)commit {
  (*core)->commit(*core);
}
- (void)waitUntilScheduled {
  if ((*core)->state() == CommandBuffer::State::Encoding) fault("waitUntilScheduled before commit");
}
- (void)waitUntilCompleted {
  (*core)->wait();
}
- (MTLCommandBufferStatus)status {
  switch ((*core)->state()) {
    case CommandBuffer::State::Encoding:
      return MTLCommandBufferStatusNotEnqueued;
    case CommandBuffer::State::Committed:
      return MTLCommandBufferStatusCommitted;
    default:
      return MTLCommandBufferStatusCompleted;
  }
}
- (NSError*)error {
  return nil;
}
- (CFTimeInterval)GPUStartTime {
  return (*core)->start_seconds();
}
- (CFTimeInterval)GPUEndTime {
  return (*core)->end_seconds();
}
@end

@implementation SoftEncoder
- (void)dealloc {
  if (!ended) fault("an encoder was released before endEncoding");
  delete core;
  [super dealloc];
}
- (void)checkOpen:(const char*)call {
  (*core)->check_open(call);
  if (ended) fault(std::string(call) + " after endEncoding");
}
- (void)endEncoding {
  [self checkOpen:"endEncoding"];
  (*core)->end_encoder();
  ended = YES;
}
@end

@implementation SoftComputeEncoder
- (id)initWithDevice:(id<MTLDevice>)owner {
  self = [super initWithDevice:owner];
  next = new Command;
  next->bindings.resize(softmetal::kBufferSlots);
  return self;
}
- (void)dealloc {
  delete next;
  [super dealloc];
}
- (MTLDispatchType)dispatchType {
  return type;
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  [self checkOpen:"setComputePipelineState"];
  if (state == nil) fault("setComputePipelineState: nil");
  next->pipeline = *((SoftPipeline*)state)->core;
}
- (Binding&)slot:(NSUInteger)index of:(const char*)call {
  [self checkOpen:call];
  if (index >= softmetal::kBufferSlots) {
    fault(std::string(call) + ": index " + std::to_string(index) + ", the last is 30");
  }
  return next->bindings[index];
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  Binding& b = [self slot:index of:"setBuffer"];
  b = Binding{};
  if (buffer == nil) return;
  b.buffer = *((SoftBuffer*)buffer)->core;
  b.offset = offset;
  if (offset >= b.buffer->size()) {
    fault("setBuffer: offset " + std::to_string(offset) + " in " + b.buffer->describe());
  }
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  Binding& b = [self slot:index of:"setBufferOffset"];
  if (b.buffer == nullptr) fault("setBufferOffset: no buffer at index " + std::to_string(index));
  if (offset >= b.buffer->size()) {
    fault("setBufferOffset: offset " + std::to_string(offset) + " in " + b.buffer->describe());
  }
  b.offset = offset;
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  Binding& b = [self slot:index of:"setBytes"];
  if (length == 0 || length > softmetal::kMaxInlineBytes) {
    fault("setBytes: " + std::to_string(length) + " bytes at index " + std::to_string(index) +
          ", expected 1 to " + std::to_string(softmetal::kMaxInlineBytes));
  }
  b = Binding{};
  b.bytes.assign(static_cast<const char*>(bytes), static_cast<const char*>(bytes) + length);
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  [self checkOpen:"setThreadgroupMemoryLength"];
  if (index >= softmetal::kBufferSlots || length % 16 != 0) {
    fault("setThreadgroupMemoryLength: " + std::to_string(length) + " bytes at index " +
          std::to_string(index) + ", expected a multiple of 16 and at most 30");
  }
  next->threadgroup[index] = length;
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
  [self dispatchThreads:MTLSizeMake(groups.width * threads.width, groups.height * threads.height,
                                    groups.depth * threads.depth)
      threadsPerThreadgroup:threads];
}
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads {
  [self checkOpen:"a dispatch"];
  Command command = *next;
  command.grid = {{grid.width, grid.height, grid.depth}};
  command.threads = {{threads.width, threads.height, threads.depth}};
  (*core)->add(std::move(command));
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
  [self checkOpen:"memoryBarrierWithScope"];
  if (scope & MTLBarrierScopeBuffers) (*core)->barrier();
}
- (void)memoryBarrierWithResources:(const id*)resources count:(NSUInteger)count {
  [self checkOpen:"memoryBarrierWithResources"];
  for (NSUInteger i = 0; i < count; ++i) (*core)->barrier(**((SoftBuffer*)resources[i])->core);
}
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
  [self checkOpen:"useResource"];
  (void)resource;
  (void)usage;
  fault("useResource: software Metal has no indirect buffers");
}
@end

@implementation SoftBlitEncoder
- (void)add:(Command::Kind)kind
       from:(id<MTLBuffer>)from
         at:(NSUInteger)fromOffset
         to:(id<MTLBuffer>)to
         at:(NSUInteger)toOffset
      bytes:(NSUInteger)bytes
      value:(uint8_t)value {
  const char* call = kind == Command::Kind::Copy ? "copyFromBuffer" : "fillBuffer";
  [self checkOpen:call];
  Command command;
  command.kind = kind;
  command.bytes = bytes;
  command.value = value;
  const auto bind = [&](id<MTLBuffer> buffer, NSUInteger offset) {
    if (buffer == nil) fault(std::string(call) + ": no buffer");
    Binding b;
    b.buffer = *((SoftBuffer*)buffer)->core;
    b.offset = offset;
    if (bytes == 0 || offset > b.buffer->size() || bytes > b.buffer->size() - offset) {
      fault(std::string(call) + ": " + std::to_string(bytes) + " bytes from " +
            std::to_string(offset) + " of " + b.buffer->describe());
    }
    command.bindings.push_back(b);
  };
  if (kind == Command::Kind::Copy) bind(from, fromOffset);
  bind(to, toOffset);
  (*core)->add(std::move(command));
}
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size {
  [self add:Command::Kind::Copy
       from:source
         at:sourceOffset
         to:destination
         at:destinationOffset
      bytes:size
      value:0];
}
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
  [self add:Command::Kind::Fill
       from:nil
         at:0
         to:buffer
         at:range.location
      bytes:range.length
      value:value];
}
@end
