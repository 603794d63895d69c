// The device and what is made from it, but for command buffers.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "fault.hpp"
#include "objects.hpp"

using softmetal::fault;
using softmetal::ns;
using softmetal::set_error;
using softmetal::text_of;

NSString* const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";
NSString* const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";
NSString* const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";

namespace softmetal {

std::string text_of(NSString* text) {
  const char* bytes = [text UTF8String];
  return bytes == nullptr ? "" : bytes;
}

NSString* ns(const std::string& text) {
  return [NSString stringWithUTF8String:text.c_str()];
}

void set_error(NSError** error, NSString* domain, NSInteger code, const std::string& text) {
  if (error == nullptr) return;
  NSDictionary* info = [NSDictionary dictionaryWithObject:ns(text)
                                                   forKey:NSLocalizedDescriptionKey];
  *error = [NSError errorWithDomain:domain code:code userInfo:info];
}

}  // namespace softmetal

namespace {

constexpr std::uint64_t kMaxBufferBytes = std::uint64_t{8} << 30;
const char* const kArchiveMagic = "softmetal archive 1";

}  // namespace

@interface SoftDevice : NSObject <MTLDevice>
@end

@interface SoftLibrary : SoftObject <MTLLibrary> {
 @public
  std::shared_ptr<softmetal::Library>* core;
}
@end

@interface SoftFunction : SoftObject <MTLFunction> {
 @public
  std::shared_ptr<softmetal::Library>* library;
  NSString* name;
}
@end

@interface SoftArchive : SoftObject <MTLBinaryArchive> {
 @public
  std::set<std::string>* keys;
}
@end

@implementation MTLCompileOptions
@synthesize fastMathEnabled;
@synthesize languageVersion;
- (id)init {
  self = [super init];
  fastMathEnabled = YES;
  languageVersion = MTLLanguageVersion2_4;
  return self;
}
- (MTLMathMode)mathMode {
  return fastMathEnabled ? MTLMathModeFast : MTLMathModeSafe;
}
- (void)setMathMode:(MTLMathMode)mode {
  fastMathEnabled = mode != MTLMathModeSafe;
}
@end

@implementation MTLComputePipelineDescriptor
@synthesize label;
@synthesize computeFunction;
@synthesize maxTotalThreadsPerThreadgroup;
@synthesize threadGroupSizeIsMultipleOfThreadExecutionWidth;
@synthesize binaryArchives;
- (void)dealloc {
  [label release];
  [computeFunction release];
  [binaryArchives release];
  [super dealloc];
}
@end

@implementation MTLBinaryArchiveDescriptor
@synthesize url;
- (void)dealloc {
  [url release];
  [super dealloc];
}
@end

@implementation SoftObject
- (id)initWithDevice:(id<MTLDevice>)owner {
  self = [super init];
  device = [owner retain];
  return self;
}
- (void)dealloc {
  [label release];
  [device release];
  [super dealloc];
}
- (id<MTLDevice>)device {
  return device;
}
- (NSString*)label {
  return label;
}
- (void)setLabel:(NSString*)text {
  [label autorelease];
  label = [text copy];
}
@end

@implementation SoftBuffer
- (void)dealloc {
  if (core != nullptr && (*core)->borrowers > 0) {
    fault((*core)->describe() +
          " was released while a command buffer that does not retain it used it");
  }
  delete core;
  [super dealloc];
}
- (void)setLabel:(NSString*)text {
  [super setLabel:text];
  (*core)->label = text_of(text);
}
- (NSUInteger)length {
  return (*core)->size();
}
- (void*)contents {
  return options & MTLResourceStorageModePrivate ? nullptr : (*core)->host();
}
- (uint64_t)gpuAddress {
  return reinterpret_cast<uint64_t>((*core)->device());
}
- (MTLStorageMode)storageMode {
  return static_cast<MTLStorageMode>(options >> MTLResourceStorageModeShift & 15);
}
- (MTLResourceOptions)resourceOptions {
  return options;
}
- (NSUInteger)allocatedSize {
  return (*core)->size();
}
@end

@implementation SoftFunction
- (void)dealloc {
  delete library;
  [name release];
  [super dealloc];
}
- (NSString*)name {
  return name;
}
- (MTLFunctionType)functionType {
  return MTLFunctionTypeKernel;
}
@end

@implementation SoftLibrary
- (void)dealloc {
  delete core;
  [super dealloc];
}
- (NSArray*)functionNames {
  NSMutableArray* names = [NSMutableArray array];
  for (const std::string& n : (*core)->names()) [names addObject:ns(n)];
  return names;
}
- (id<MTLFunction>)newFunctionWithName:(NSString*)name {
  if (!(*core)->has(text_of(name))) return nil;
  SoftFunction* function = [[SoftFunction alloc] initWithDevice:device];
  function->library = new std::shared_ptr<softmetal::Library>(*core);
  function->name = [name copy];
  return function;
}
@end

@implementation SoftPipeline
- (void)dealloc {
  delete core;
  [super dealloc];
}
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return (*core)->max_threads;
}
- (NSUInteger)threadExecutionWidth {
  return softmetal::kSimdWidth;
}
- (NSUInteger)staticThreadgroupMemoryLength {
  return (*core)->function->threadgroup_bytes();
}
@end

namespace {

std::string key_of(SoftFunction* function) {
  return (*function->library)->key() + " " + text_of(function->name);
}

}  // namespace

@implementation SoftArchive
- (void)dealloc {
  delete keys;
  [super dealloc];
}
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                            error:(NSError**)error {
  id<MTLComputePipelineState> made =
      [device newComputePipelineStateWithDescriptor:descriptor
                                            options:MTLPipelineOptionNone
                                         reflection:nullptr
                                              error:error];
  if (made == nil) return NO;
  [made release];
  keys->insert(key_of((SoftFunction*)[descriptor computeFunction]));
  return YES;
}
- (BOOL)serializeToURL:(NSURL*)url error:(NSError**)error {
  std::ofstream out(text_of([url path]), std::ios::binary);
  out << kArchiveMagic << '\n';
  for (const std::string& k : *keys) out << k << '\n';
  out.close();
  if (!out) {
    set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInternalError,
              "cannot write " + text_of([url path]));
    return NO;
  }
  return YES;
}
@end

@implementation SoftDevice
- (NSString*)name {
  return @"Software Metal";
}
- (uint64_t)registryID {
  return 1;
}
- (MTLSize)maxThreadsPerThreadgroup {
  return MTLSizeMake(softmetal::kMaxThreads, softmetal::kMaxThreads, 64);
}
- (NSUInteger)maxThreadgroupMemoryLength {
  return softmetal::kMaxThreadgroupBytes;
}
- (NSUInteger)maxBufferLength {
  return kMaxBufferBytes;
}
- (NSUInteger)currentAllocatedSize {
  return softmetal::allocated_bytes();
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return kMaxBufferBytes;
}
- (BOOL)hasUnifiedMemory {
  return YES;
}
- (BOOL)supportsFamily:(MTLGPUFamily)family {
  return (family >= MTLGPUFamilyApple1 && family <= MTLGPUFamilyApple7) ||
         (family >= MTLGPUFamilyCommon1 && family <= MTLGPUFamilyCommon3);
}

- (id<MTLBuffer>)bufferOf:(std::shared_ptr<softmetal::Buffer>)core
                  options:(MTLResourceOptions)options {
  if (core == nullptr) return nil;
  SoftBuffer* buffer = [[SoftBuffer alloc] initWithDevice:self];
  buffer->core = new std::shared_ptr<softmetal::Buffer>(core);
  buffer->options = options;
  core->tracked = !(options & MTLResourceHazardTrackingModeUntracked);
  return buffer;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  if (length == 0) fault("newBufferWithLength: a buffer of 0 bytes");
  if (length > kMaxBufferBytes) return nil;
  return [self bufferOf:softmetal::Buffer::allocate(length) options:options];
}
- (id<MTLBuffer>)newBufferWithBytes:(const void*)pointer
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options {
  if (options & MTLResourceStorageModePrivate) {
    fault("newBufferWithBytes: the storage mode is private");
  }
  id<MTLBuffer> buffer = [self newBufferWithLength:length options:options];
  if (buffer != nil)
    std::copy_n(static_cast<const char*>(pointer), length, (char*)[buffer contents]);
  return buffer;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(id)deallocator {
  if (deallocator != nil) fault("newBufferWithBytesNoCopy: software Metal has no deallocators");
  const std::size_t page = softmetal::page_bytes();
  if (pointer == nullptr || reinterpret_cast<std::uintptr_t>(pointer) % page != 0) {
    fault("newBufferWithBytesNoCopy: the pointer is not aligned to a page");
  }
  if (length == 0 || length % page != 0) {
    fault("newBufferWithBytesNoCopy: the length " + std::to_string(length) +
          " is not a multiple of the page size");
  }
  return [self bufferOf:softmetal::Buffer::wrap(pointer, length) options:options];
}

- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(NSError**)error {
  softmetal::CompileOptions o;
  if (options != nil) {
    o.fast_math = [options fastMathEnabled];
    o.version = static_cast<std::uint32_t>(([options languageVersion] >> 16) * 100 +
                                           ([options languageVersion] & 0xffff) * 10);
  }
  std::string log;
  const std::shared_ptr<softmetal::Library> core =
      softmetal::Library::compile(text_of(source), o, log);
  if (core == nullptr) {
    set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, log);
    return nil;
  }
  SoftLibrary* library = [[SoftLibrary alloc] initWithDevice:self];
  library->core = new std::shared_ptr<softmetal::Library>(core);
  return library;
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError**)error {
  MTLComputePipelineDescriptor* d = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [d setComputeFunction:function];
  return [self newComputePipelineStateWithDescriptor:d
                                             options:MTLPipelineOptionNone
                                          reflection:nullptr
                                               error:error];
}
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLComputePipelineReflection**)reflection
                                    error:(NSError**)error {
  (void)reflection;
  SoftFunction* function = (SoftFunction*)[descriptor computeFunction];
  if (function == nil) fault("newComputePipelineState without a computeFunction");
  const std::string name = text_of([function name]);
  bool found = false;
  for (NSUInteger i = 0; i < [[descriptor binaryArchives] count]; ++i) {
    SoftArchive* archive = [[descriptor binaryArchives] objectAtIndex:i];
    found = found || archive->keys->count(key_of(function)) != 0;
  }
  if ((options & MTLPipelineOptionFailOnBinaryArchiveMiss) && !found) {
    set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorUnexpectedElement,
              "kernel " + name + " is in no binary archive");
    return nil;
  }
  std::string log;
  auto made = std::make_shared<softmetal::Pipeline>();
  made->function = (*function->library)->function(name, log);
  if (made->function == nullptr) {
    set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, log);
    return nil;
  }
  if (made->function->threadgroup_bytes() > softmetal::kMaxThreadgroupBytes) {
    set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure,
              "kernel " + name + ": " + std::to_string(made->function->threadgroup_bytes()) +
                  " bytes of threadgroup memory, more than " +
                  std::to_string(softmetal::kMaxThreadgroupBytes));
    return nil;
  }
  made->max_threads = made->function->kernel.max_threads;
  if (const NSUInteger most = [descriptor maxTotalThreadsPerThreadgroup]; most != 0) {
    made->max_threads = std::min(made->max_threads, static_cast<std::uint32_t>(most));
  }
  SoftPipeline* pipeline = [[SoftPipeline alloc] initWithDevice:self];
  pipeline->core = new std::shared_ptr<softmetal::Pipeline>(made);
  [pipeline setLabel:[descriptor label]];
  return pipeline;
}

- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor*)descriptor
                                                 error:(NSError**)error {
  std::set<std::string> keys;
  if ([descriptor url] != nil) {
    const std::string path = text_of([[descriptor url] path]);
    std::ifstream in(path, std::ios::binary);
    std::string line;
    if (!std::getline(in, line) || line != kArchiveMagic) {
      set_error(error, MTLBinaryArchiveDomain, MTLBinaryArchiveErrorInvalidFile,
                path + " is no binary archive");
      return nil;
    }
    while (std::getline(in, line)) keys.insert(line);
  }
  SoftArchive* archive = [[SoftArchive alloc] initWithDevice:self];
  archive->keys = new std::set<std::string>(std::move(keys));
  return archive;
}

- (id<MTLCommandQueue>)newCommandQueue {
  SoftQueue* queue = [[SoftQueue alloc] initWithDevice:self];
  queue->core = new std::shared_ptr<softmetal::Queue>(std::make_shared<softmetal::Queue>());
  return queue;
}
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count {
  (void)count;
  return [self newCommandQueue];
}
@end

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  static SoftDevice* device = [[SoftDevice alloc] init];
  softmetal::watch_memory();
  return [device retain];
}
