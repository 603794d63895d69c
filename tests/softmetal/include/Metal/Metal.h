// Software Metal: the part of Apple's Metal that a compute backend uses, under Apple's names, for
// GNUstep. The behaviour is described in ../../README.md; what is not here Apple's Metal may have.
#ifndef SOFTMETAL_METAL_H
#define SOFTMETAL_METAL_H

#import <Foundation/Foundation.h>

#include <stdint.h>

@protocol MTLBinaryArchive;
@protocol MTLBlitCommandEncoder;
@protocol MTLBuffer;
@protocol MTLCommandBuffer;
@protocol MTLCommandQueue;
@protocol MTLComputeCommandEncoder;
@protocol MTLComputePipelineState;
@protocol MTLDevice;
@protocol MTLFunction;
@protocol MTLLibrary;

typedef double CFTimeInterval;
typedef struct {
  NSUInteger width, height, depth;
} MTLSize;
static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
  MTLSize size = {width, height, depth};
  return size;
}

enum {
  MTLResourceCPUCacheModeShift = 0,
  MTLResourceStorageModeShift = 4,
  MTLResourceHazardTrackingModeShift = 8,
};
enum MTLResourceOptionValues : NSUInteger {
  MTLResourceCPUCacheModeDefaultCache = 0,
  MTLResourceCPUCacheModeWriteCombined = 1,
  MTLResourceStorageModeShared = 0 << 4,
  MTLResourceStorageModeManaged = 1 << 4,
  MTLResourceStorageModePrivate = 2 << 4,
  MTLResourceHazardTrackingModeDefault = 0 << 8,
  MTLResourceHazardTrackingModeUntracked = 1 << 8,
  MTLResourceHazardTrackingModeTracked = 2 << 8,
};
typedef NSUInteger MTLResourceOptions;
typedef enum MTLStorageMode : NSUInteger {
  MTLStorageModeShared = 0,
  MTLStorageModeManaged = 1,
  MTLStorageModePrivate = 2,
} MTLStorageMode;
typedef enum MTLResourceUsage : NSUInteger {
  MTLResourceUsageRead = 1,
  MTLResourceUsageWrite = 2,
} MTLResourceUsage;
enum MTLBarrierScopeValues : NSUInteger {
  MTLBarrierScopeBuffers = 1,
  MTLBarrierScopeTextures = 2,
};
typedef NSUInteger MTLBarrierScope;
typedef enum MTLDispatchType : NSUInteger {
  MTLDispatchTypeSerial = 0,
  MTLDispatchTypeConcurrent = 1,
} MTLDispatchType;
typedef enum MTLCommandBufferStatus : NSUInteger {
  MTLCommandBufferStatusNotEnqueued = 0,
  MTLCommandBufferStatusEnqueued = 1,
  MTLCommandBufferStatusCommitted = 2,
  MTLCommandBufferStatusScheduled = 3,
  MTLCommandBufferStatusCompleted = 4,
  MTLCommandBufferStatusError = 5,
} MTLCommandBufferStatus;
typedef enum MTLLanguageVersion : NSUInteger {
  MTLLanguageVersion2_0 = (2 << 16),
  MTLLanguageVersion2_1 = (2 << 16) + 1,
  MTLLanguageVersion2_2 = (2 << 16) + 2,
  MTLLanguageVersion2_3 = (2 << 16) + 3,
  MTLLanguageVersion2_4 = (2 << 16) + 4,
  MTLLanguageVersion3_0 = (3 << 16),
  MTLLanguageVersion3_1 = (3 << 16) + 1,
  MTLLanguageVersion3_2 = (3 << 16) + 2,
} MTLLanguageVersion;
typedef enum MTLMathMode : NSInteger {
  MTLMathModeSafe = 0,
  MTLMathModeRelaxed = 1,
  MTLMathModeFast = 2,
} MTLMathMode;
typedef enum MTLGPUFamily : NSInteger {
  MTLGPUFamilyApple1 = 1001,
  MTLGPUFamilyApple2 = 1002,
  MTLGPUFamilyApple3 = 1003,
  MTLGPUFamilyApple4 = 1004,
  MTLGPUFamilyApple5 = 1005,
  MTLGPUFamilyApple6 = 1006,
  MTLGPUFamilyApple7 = 1007,
  MTLGPUFamilyApple8 = 1008,
  MTLGPUFamilyApple9 = 1009,
  MTLGPUFamilyMac2 = 2002,
  MTLGPUFamilyCommon1 = 3001,
  MTLGPUFamilyCommon2 = 3002,
  MTLGPUFamilyCommon3 = 3003,
  MTLGPUFamilyMetal3 = 5001,
} MTLGPUFamily;
typedef enum MTLFunctionType : NSUInteger {
  MTLFunctionTypeVertex = 1,
  MTLFunctionTypeFragment = 2,
  MTLFunctionTypeKernel = 3,
} MTLFunctionType;
enum MTLPipelineOptionValues : NSUInteger {
  MTLPipelineOptionNone = 0,
  MTLPipelineOptionFailOnBinaryArchiveMiss = 4,
};
typedef NSUInteger MTLPipelineOption;
typedef enum MTLLibraryError : NSUInteger {
  MTLLibraryErrorUnsupported = 1,
  MTLLibraryErrorInternal = 2,
  MTLLibraryErrorCompileFailure = 3,
  MTLLibraryErrorCompileWarning = 4,
  MTLLibraryErrorFunctionNotFound = 5,
  MTLLibraryErrorFileNotFound = 6,
} MTLLibraryError;
typedef enum MTLBinaryArchiveError : NSUInteger {
  MTLBinaryArchiveErrorNone = 0,
  MTLBinaryArchiveErrorInvalidFile = 1,
  MTLBinaryArchiveErrorUnexpectedElement = 2,
  MTLBinaryArchiveErrorCompilationFailure = 3,
  MTLBinaryArchiveErrorInternalError = 4,
} MTLBinaryArchiveError;

extern "C" {
extern NSString* const MTLLibraryErrorDomain;
extern NSString* const MTLBinaryArchiveDomain;
extern NSString* const MTLCommandBufferErrorDomain;
// Owned by the caller.
id<MTLDevice> MTLCreateSystemDefaultDevice(void);
}

@interface MTLCompileOptions : NSObject {
  BOOL fastMathEnabled;
  MTLLanguageVersion languageVersion;
}
@property(nonatomic) BOOL fastMathEnabled;
@property(nonatomic) MTLLanguageVersion languageVersion;
@property(nonatomic) MTLMathMode mathMode;
@end

@interface MTLComputePipelineDescriptor : NSObject {
  NSString* label;
  id<MTLFunction> computeFunction;
  NSUInteger maxTotalThreadsPerThreadgroup;
  BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
  NSArray* binaryArchives;
}
@property(nonatomic, copy) NSString* label;
@property(nonatomic, retain) id<MTLFunction> computeFunction;
@property(nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property(nonatomic) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property(nonatomic, copy) NSArray* binaryArchives;
@end

@interface MTLBinaryArchiveDescriptor : NSObject {
  NSURL* url;
}
@property(nonatomic, copy) NSURL* url;
@end

@class MTLComputePipelineReflection;

@protocol MTLDevice <NSObject>
- (NSString*)name;
- (uint64_t)registryID;
- (MTLSize)maxThreadsPerThreadgroup;
- (NSUInteger)maxThreadgroupMemoryLength;
- (NSUInteger)maxBufferLength;
- (NSUInteger)currentAllocatedSize;
- (uint64_t)recommendedMaxWorkingSetSize;
- (BOOL)hasUnifiedMemory;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytes:(const void*)pointer
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options;
// The deallocator, a block in Apple's header, must be nil.
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(id)deallocator;
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(NSError**)error;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError**)error;
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                  options:(MTLPipelineOption)options
                               reflection:(MTLComputePipelineReflection**)reflection
                                    error:(NSError**)error;
- (id<MTLBinaryArchive>)newBinaryArchiveWithDescriptor:(MTLBinaryArchiveDescriptor*)descriptor
                                                 error:(NSError**)error;
@end

@protocol MTLLibrary <NSObject>
- (id<MTLDevice>)device;
- (NSString*)label;
- (void)setLabel:(NSString*)label;
- (NSArray*)functionNames;
- (id<MTLFunction>)newFunctionWithName:(NSString*)name;
@end

@protocol MTLFunction <NSObject>
- (id<MTLDevice>)device;
- (NSString*)name;
- (NSString*)label;
- (void)setLabel:(NSString*)label;
- (MTLFunctionType)functionType;
@end

@protocol MTLComputePipelineState <NSObject>
- (id<MTLDevice>)device;
- (NSString*)label;
- (NSUInteger)maxTotalThreadsPerThreadgroup;
- (NSUInteger)threadExecutionWidth;
- (NSUInteger)staticThreadgroupMemoryLength;
@end

@protocol MTLBinaryArchive <NSObject>
- (id<MTLDevice>)device;
- (NSString*)label;
- (void)setLabel:(NSString*)label;
- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor*)descriptor
                                            error:(NSError**)error;
- (BOOL)serializeToURL:(NSURL*)url error:(NSError**)error;
@end

@protocol MTLResource <NSObject>
- (id<MTLDevice>)device;
- (NSString*)label;
- (void)setLabel:(NSString*)label;
- (MTLStorageMode)storageMode;
- (MTLResourceOptions)resourceOptions;
- (NSUInteger)allocatedSize;
@end

@protocol MTLBuffer <MTLResource>
- (NSUInteger)length;
- (void*)contents;
- (uint64_t)gpuAddress;
@end

@protocol MTLCommandQueue <NSObject>
- (id<MTLDevice>)device;
- (NSString*)label;
- (void)setLabel:(NSString*)label;
- (id<MTLCommandBuffer>)commandBuffer;
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
@end

@protocol MTLCommandBuffer <NSObject>
- (id<MTLDevice>)device;
- (id<MTLCommandQueue>)commandQueue;
- (BOOL)retainedReferences;
- (NSString*)label;
- (void)setLabel:(NSString*)label;
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (void)enqueue;
- (void)commit;
- (void)waitUntilScheduled;
- (void)waitUntilCompleted;
- (MTLCommandBufferStatus)status;
- (NSError*)error;
- (CFTimeInterval)GPUStartTime;
- (CFTimeInterval)GPUEndTime;
@end

@protocol MTLCommandEncoder <NSObject>
- (id<MTLDevice>)device;
- (NSString*)label;
- (void)setLabel:(NSString*)label;
- (void)endEncoding;
@end

@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
- (MTLDispatchType)dispatchType;
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreadgroups:(MTLSize)threadgroups threadsPerThreadgroup:(MTLSize)threads;
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup;
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope;
- (void)memoryBarrierWithResources:(const id*)resources count:(NSUInteger)count;
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage;
@end

@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size;
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
@end

#endif
