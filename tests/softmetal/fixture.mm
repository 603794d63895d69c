#include "fixture.hpp"

namespace softmetal_test {

const char* const kHead = "#include <metal_stdlib>\nusing namespace metal;\n";

SoftMetal::SoftMetal() : pool_([[NSAutoreleasePool alloc] init]) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  device = [MTLCreateSystemDefaultDevice() autorelease];
  queue_ = [[device newCommandQueue] autorelease];
}

SoftMetal::~SoftMetal() {
  [pool_ drain];
}

id<MTLComputePipelineState> SoftMetal::try_pipeline(const std::string& text,
                                                    const std::string& name) {
  MTLCompileOptions* options = [[[MTLCompileOptions alloc] init] autorelease];
  [options setFastMathEnabled:NO];
  NSError* error = nil;
  NSString* source = [NSString stringWithUTF8String:(kHead + text).c_str()];
  id<MTLLibrary> library = [[device newLibraryWithSource:source options:options
                                                   error:&error] autorelease];
  id<MTLComputePipelineState> made = nil;
  if (library != nil) {
    id<MTLFunction> function =
        [[library newFunctionWithName:[NSString stringWithUTF8String:name.c_str()]] autorelease];
    if (function == nil) {
      log = "no function " + name;
      return nil;
    }
    made = [[device newComputePipelineStateWithFunction:function error:&error] autorelease];
  }
  if (made == nil) log = [[error localizedDescription] UTF8String];
  return made;
}

id<MTLComputePipelineState> SoftMetal::pipeline(const std::string& text, const std::string& name) {
  id<MTLComputePipelineState> made = try_pipeline(text, name);
  EXPECT_NE(made, nil) << log;
  return made;
}

id<MTLBuffer> SoftMetal::buffer(std::size_t bytes) {
  return [[device newBufferWithLength:bytes options:MTLResourceStorageModeShared] autorelease];
}

id<MTLCommandBuffer> SoftMetal::commands() {
  return [queue_ commandBuffer];
}

void SoftMetal::run(id<MTLComputePipelineState> what, const std::vector<Buffer>& buffers,
                    MTLSize groups, MTLSize threads) {
  id<MTLCommandBuffer> c = commands();
  id<MTLComputeCommandEncoder> e = [c computeCommandEncoder];
  [e setComputePipelineState:what];
  for (std::size_t i = 0; i < buffers.size(); ++i) [e setBuffer:buffers[i] offset:0 atIndex:i];
  [e dispatchThreadgroups:groups threadsPerThreadgroup:threads];
  [e endEncoding];
  [c commit];
  [c waitUntilCompleted];
  EXPECT_EQ([c status], MTLCommandBufferStatusCompleted);
}

void SoftMetal::run(id<MTLComputePipelineState> what, const std::vector<Buffer>& buffers,
                    std::size_t threads) {
  run(what, buffers, MTLSizeMake(1, 1, 1), MTLSizeMake(threads, 1, 1));
}

}  // namespace softmetal_test
