// Faults planted on purpose are found, and named.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "fixture.hpp"

namespace softmetal_test {
namespace {

const char* const kDouble = R"(
  struct P { uint n, unused; };
  kernel void twice(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                    constant P& p [[buffer(2)]], uint g [[thread_position_in_grid]]) {
    if (g < p.n) y[g] = 2 * x[g];
  })";
struct P {
  std::uint32_t n, unused;
};

class SoftMetalFault : public SoftMetal {
 protected:
  // Encodes `twice` of n elements in groups of 32; what is null is not bound.
  id<MTLCommandBuffer> encode(id<MTLBuffer> x, id<MTLBuffer> y, std::uint32_t n,
                              std::size_t parameter_bytes = sizeof(P)) {
    const P p[2] = {{n, 0}, {n, 0}};
    id<MTLCommandBuffer> c = commands();
    id<MTLComputeCommandEncoder> e = [c computeCommandEncoder];
    [e setComputePipelineState:pipeline(kDouble, "twice")];
    if (x != nil) [e setBuffer:x offset:0 atIndex:0];
    if (y != nil) [e setBuffer:y offset:0 atIndex:1];
    if (parameter_bytes > 0) [e setBytes:p length:parameter_bytes atIndex:2];
    [e dispatchThreadgroups:MTLSizeMake((n + 31) / 32, 1, 1)
        threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [e endEncoding];
    return c;
  }
  void finish(id<MTLCommandBuffer> c) {
    [c commit];
    [c waitUntilCompleted];
  }
  // That the text does not compile, and that the log says why.
  void refused(const std::string& text, const std::string& why) {
    EXPECT_EQ(try_pipeline(text, "f"), nil) << text;
    EXPECT_NE(log.find(why), std::string::npos) << log;
    EXPECT_NE(log.find("program_source"), std::string::npos) << log;
  }
};
using SoftMetalDeathTest = SoftMetalFault;

TEST_F(SoftMetalDeathTest, ABufferThatIsNotBound) {
  EXPECT_DEATH(encode(nil, buffer(128), 32), "kernel twice: 'x' at index 0 is not bound");
  EXPECT_DEATH(encode(buffer(128), nil, 32), "kernel twice: 'y' at index 1 is not bound");
  EXPECT_DEATH(encode(buffer(128), buffer(128), 32, 0), "'p' at index 2 is not bound");
}

TEST_F(SoftMetalDeathTest, ABufferThatIsTooSmall) {
  EXPECT_DEATH(finish(encode(buffer(128), buffer(124), 32)),
               "kernel twice (wrote after the end|touches byte 124) of the buffer of 124 bytes");
  EXPECT_DEATH(finish(encode(buffer(4096), buffer(8192), 2048)),
               "kernel twice touches byte 4096 of the buffer of 4096 bytes");
  EXPECT_DEATH(encode(buffer(128), buffer(2), 32),
               "'y' at index 1 is bound to 2 bytes, and its type has 4");
}

TEST_F(SoftMetalDeathTest, AnOffsetThatItsTypeIsNotAlignedTo) {
  const auto dispatch = [this](std::size_t offset) {
    id<MTLCommandBuffer> c = commands();
    id<MTLComputeCommandEncoder> e = [c computeCommandEncoder];
    [e setComputePipelineState:pipeline("kernel void f(device float4* y [[buffer(0)]], device "
                                        "uchar* z [[buffer(1)]]) { y[0] = z[0]; }")];
    [e setBuffer:buffer(64) offset:offset atIndex:0];
    [e setBuffer:buffer(64) offset:3 atIndex:1];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [e endEncoding];
    finish(c);
  };
  dispatch(16);
  EXPECT_DEATH(dispatch(8),
               "'y' at index 0 is bound at byte 8 of its buffer, and its type is aligned to 16");
}

TEST_F(SoftMetalDeathTest, ArgumentsOfTheWrongSize) {
  EXPECT_DEATH(encode(buffer(128), buffer(128), 32, 4),
               "'p' at index 2 is bound with setBytes of 4 bytes, and its type has 8");
  EXPECT_DEATH(encode(buffer(128), buffer(128), 32, 12),
               "'p' at index 2 is bound with setBytes of 12 bytes, and its type has 8");
  EXPECT_DEATH([[commands() computeCommandEncoder] setBytes:std::vector<char>(8192).data()
                                                     length:4097
                                                    atIndex:0],
               "setBytes: 4097 bytes at index 0, expected 1 to 4096");
}

TEST_F(SoftMetalDeathTest, GroupsThatAreTooLarge) {
  const auto dispatch = [this](const char* attribute, std::size_t threads) {
    id<MTLComputePipelineState> f = pipeline(
        std::string(attribute) + "kernel void f(device float* y [[buffer(0)]]) { y[0] = 1; }");
    id<MTLComputeCommandEncoder> e = [commands() computeCommandEncoder];
    [e setComputePipelineState:f];
    [e setBuffer:buffer(4) offset:0 atIndex:0];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
  };
  EXPECT_DEATH(dispatch("", 1025), "kernel f: 1025 threads in a group, more than its 1024");
  EXPECT_DEATH(dispatch("[[max_total_threads_per_threadgroup(64)]] ", 96),
               "kernel f: 96 threads in a group, more than its 64");
  EXPECT_DEATH(dispatch("", 0), "kernel f: a grid of 0x1x1 threads in groups of 0x1x1");
}

TEST_F(SoftMetalDeathTest, ThreadgroupMemoryAboveTheLimit) {
  EXPECT_EQ(try_pipeline(R"(
    kernel void f(device float* y [[buffer(0)]]) {
      threadgroup float a[8193];
      a[0] = 1;
      y[0] = a[0];
    })",
                         "f"),
            nil);
  EXPECT_NE(log.find("kernel f: 32784 bytes of threadgroup memory, more than 32768"),
            std::string::npos)
      << log;
  EXPECT_DEATH(
      {
        id<MTLComputeCommandEncoder> e = [commands() computeCommandEncoder];
        [e setComputePipelineState:pipeline(R"(
          kernel void f(threadgroup float* a [[threadgroup(0)]]) { a[0] = 1; })")];
        [e setThreadgroupMemoryLength:32784 atIndex:0];
        [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
      },
      "kernel f: 32784 bytes of threadgroup memory, more than 32768");
}

TEST_F(SoftMetalDeathTest, AThreadgroupVariableOverrun) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device float* y [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
      threadgroup float a[32];
      a[t] = 1;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      y[t] = a[t + 4];
    })");
  EXPECT_DEATH(run(f, {buffer(128)}, 32),
               "kernel f touches memory beside an argument or a threadgroup variable");
}

TEST_F(SoftMetalDeathTest, ReadingBeforeCompletion) {
  id<MTLBuffer> x = buffer(128), y = buffer(128);
  [y setLabel:@"result"];
  volatile float* result = static_cast<float*>([y contents]);
  EXPECT_DEATH(
      {
        [encode(x, y, 32) commit];
        (void)result[3];
      },
      "the host touches byte 12 of the buffer 'result' of 128 bytes between a commit and its "
      "completion");
  // What the kernel only reads may be read, but not written.
  volatile float* given = static_cast<float*>([x contents]);
  EXPECT_DEATH(
      {
        [encode(x, y, 32) commit];
        (void)given[0];
        given[1] = 1;
      },
      "the host touches byte 4 of the buffer of 128 bytes between a commit and its completion");
  finish(encode(x, y, 32));
  EXPECT_EQ(result[3], 0.0f);
}

TEST_F(SoftMetalDeathTest, CallsInTheWrongOrder) {
  id<MTLBuffer> x = buffer(128), y = buffer(128);
  EXPECT_DEATH(
      {
        id<MTLCommandBuffer> c = commands();
        [[c computeCommandEncoder] setBuffer:x offset:0 atIndex:0];
        [c commit];
      },
      "commit before endEncoding");
  EXPECT_DEATH(
      {
        id<MTLCommandBuffer> c = encode(x, y, 32);
        [c commit];
        [c computeCommandEncoder];
      },
      "a new encoder after the command buffer was committed");
  EXPECT_DEATH(
      {
        id<MTLCommandBuffer> c = encode(x, y, 32);
        [c commit];
        [c commit];
      },
      "commit after the command buffer was committed");
  EXPECT_DEATH(
      {
        id<MTLComputeCommandEncoder> e = [commands() computeCommandEncoder];
        [e endEncoding];
        [e setBuffer:x offset:0 atIndex:0];
      },
      "setBuffer after endEncoding");
  EXPECT_DEATH(
      {
        id<MTLCommandBuffer> c = commands();
        [c computeCommandEncoder];
        [c blitCommandEncoder];
      },
      "a new encoder before endEncoding of the one before it");
  EXPECT_DEATH([encode(x, y, 32) waitUntilCompleted], "waitUntilCompleted before commit");
  EXPECT_DEATH([[commands() computeCommandEncoder] dispatchThreadgroups:MTLSizeMake(1, 1, 1)
                                                  threadsPerThreadgroup:MTLSizeMake(1, 1, 1)],
               "a dispatch without setComputePipelineState");
  EXPECT_DEATH([[commands() computeCommandEncoder] setBuffer:x offset:128 atIndex:0],
               "setBuffer: offset 128 in the buffer of 128 bytes");
}

TEST_F(SoftMetalDeathTest, ABufferReleasedTooEarly) {
  EXPECT_DEATH(
      {
        id<MTLCommandBuffer> c =
            [[[device newCommandQueue] autorelease] commandBufferWithUnretainedReferences];
        id<MTLComputeCommandEncoder> e = [c computeCommandEncoder];
        id<MTLBuffer> y = [device newBufferWithLength:4 options:0];
        [e setComputePipelineState:pipeline(
                                       "kernel void f(device float* y [[buffer(0)]]) { *y = 1; }")];
        [e setBuffer:y offset:0 atIndex:0];
        [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
        [e endEncoding];
        [c commit];
        [y release];
      },
      "the buffer of 4 bytes was released while a command buffer that does not retain it used it");
}

TEST_F(SoftMetalDeathTest, ThreadsThatPart) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device float* y [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
      if (t < 40) threadgroup_barrier(mem_flags::mem_none);
      y[t] = 1;
    })");
  EXPECT_DEATH(run(f, {buffer(256)}, 64),
               "kernel f: threads of a group part: thread 0 waits at the threadgroup barrier in "
               "program_source:5, thread 40 has ended");
  id<MTLComputePipelineState> g = pipeline(R"(
    kernel void f(device float* y [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
      float v = 0;
      if (t < 8) {
        v = simd_sum(1.0f);
      } else {
        threadgroup_barrier(mem_flags::mem_none);
      }
      y[t] = v;
    })");
  EXPECT_DEATH(
      run(g, {buffer(128)}, 32),
      "kernel f: threads of a group part: thread 0 waits at the "
      "simdgroup operation in program_source:7, thread 8 waits at the threadgroup barrier");
}

// Two dispatches side by side: x to y, y to z.
TEST_F(SoftMetalDeathTest, AMissingBarrierBetweenDispatches) {
  id<MTLComputePipelineState> f = pipeline(kDouble, "twice");
  enum class Between { Nothing, AllBuffers, Written, Other };
  // Doubles 32 floats of b[0] into b[1], then those from `from` of b[2] into b[3] from `to`.
  const auto two = [&](std::vector<Buffer> b, std::size_t from, std::size_t to, Between between,
                       MTLDispatchType type = MTLDispatchTypeConcurrent) {
    const P p = {32, 0};
    id<MTLCommandBuffer> c = commands();
    id<MTLComputeCommandEncoder> e = [c computeCommandEncoderWithDispatchType:type];
    [e setComputePipelineState:f];
    [e setBytes:&p length:sizeof p atIndex:2];
    [e setBuffer:b[0] offset:0 atIndex:0];
    [e setBuffer:b[1] offset:0 atIndex:1];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    const id one[] = {between == Between::Other ? b[0] : b[1]};
    if (between == Between::AllBuffers) [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
    if (between >= Between::Written) [e memoryBarrierWithResources:one count:1];
    [e setBuffer:b[2] offset:from * sizeof(float) atIndex:0];
    [e setBuffer:b[3] offset:to * sizeof(float) atIndex:1];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [e endEncoding];
    finish(c);
  };
  id<MTLBuffer> x = buffer(512), y = buffer(512), z = buffer(512);
  [y setLabel:@"y"];
  EXPECT_DEATH(
      two({x, y, y, z}, 0, 0, Between::Nothing),
      "kernel twice reads byte 0 of the buffer 'y' of 512 bytes, which kernel twice wrote, "
      "without a barrier between them");
  EXPECT_DEATH(two({x, y, y, z}, 31, 0, Between::Nothing), "reads byte 124 of the buffer 'y'");
  EXPECT_DEATH(
      two({x, y, z, y}, 0, 16, Between::Nothing),
      "kernel twice writes byte 64 of the buffer 'y' of 512 bytes, which kernel twice wrote");
  EXPECT_DEATH(
      two({y, x, z, y}, 0, 31, Between::Nothing),
      "kernel twice writes byte 124 of the buffer 'y' of 512 bytes, which kernel twice read");
  EXPECT_DEATH(two({x, y, y, z}, 0, 0, Between::Other), "without a barrier between them");
  std::fill_n(static_cast<float*>([x contents]), 128, 3.0f);
  for (const Between b : {Between::AllBuffers, Between::Written}) {
    std::fill_n(static_cast<float*>([z contents]), 128, 0.0f);
    two({x, y, y, z}, 0, 0, b);
    EXPECT_EQ(values<float>(z)[5], 12.0f);
  }
  two({x, y, y, z}, 0, 64, Between::Nothing, MTLDispatchTypeSerial);
  EXPECT_EQ(values<float>(z)[69], 12.0f);
  // Parts of one buffer that do not meet, and two readers.
  two({x, y, y, y}, 32, 64, Between::Nothing);
  two({x, y, x, z}, 0, 0, Between::Nothing);
}

// Without the barrier the first simdgroup reads what the second one has not written.
TEST_F(SoftMetalFault, AMissingBarrierInAKernelShows) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device uint* y [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
      threadgroup uint a[64];
      a[t] = t;
      y[t] = a[63 - t];
    })");
  id<MTLBuffer> y = buffer(256);
  run(f, {y}, 64);
  EXPECT_NE(values<std::uint32_t>(y)[0], 63u);
}

TEST_F(SoftMetalFault, TheWrongAddressSpace) {
  const std::string inner =
      "kernel void f(device float* y [[buffer(0)]], constant float& v [[buffer(1)]]) ";
  refused(inner + "{ threadgroup float* p = y; }",
          "cannot initialize a variable of type 'threadgroup float *thread' with an lvalue of type "
          "'device float *thread'");
  refused(inner + "{ thread float* p = y; }",
          "cannot initialize a variable of type 'thread float *thread'");
  refused(inner + "{ device float* p = &v; }", "cannot initialize");
  refused(inner + "{ v = 1; }", "read-only");
  refused(inner + "{ float x = 1; device float* p = &x; }", "cannot initialize");
  refused("inline void g(threadgroup float* p) { *p = 1; } " + inner + "{ g(y); }",
          "no matching function");
  refused(inner + "{ float* p = y; *p = 1; }", "without an address space:    float *p");
  refused("inline float g(float& p) { return p; } " + inner + "{ float x = 1; *y = g(x); }",
          "without an address space");
  refused("kernel void f(thread float* y [[buffer(0)]]) {}", "points to the wrong address space");
}

TEST_F(SoftMetalFault, WhatTheLanguageHasNot) {
  const std::string kernel = "kernel void f(device float* y [[buffer(0)]]) ";
  refused(kernel + "{ printf(\"%f\", *y); }", "undeclared identifier 'printf'");
  refused(kernel + "{ *y = std::exp(*y); }", "undeclared identifier 'std'");
  refused(kernel + "{ *y = __shfl_xor(*y, 1); }", "undeclared identifier '__shfl_xor'");
  refused(kernel + "{ *y = expf(*y); }", "undeclared identifier 'expf'");
  refused(kernel + "{ *y = erf(*y); }", "undeclared identifier 'erf'");
  refused(kernel + "{ barrier(1); }", "undeclared identifier 'barrier'");
  refused(kernel + "{ *y = get_global_id(0); }", "undeclared identifier 'get_global_id'");
  refused(kernel + "{ double d = 1; }", "double");
  refused(kernel + "{ const int thread = 1; }", "error");
  refused(kernel + "{ __local float a[2]; }", "Metal has no __local");
  refused(kernel + "{ auto g = new float(1); }", "'default new'");
  refused(kernel + "{ try { *y = 1; } catch (...) {} }", "exceptions");
  refused("struct S { virtual void g() {} }; " + kernel + "{ S s; s.g(); }", "virtual");
  refused(kernel + "{ if constexpr (true) *y = 1; }", "C++17");
  refused("#include <cmath>\n" + kernel + "{ *y = 1; }", "'cmath' file not found");
  refused("kernel void f(device float* y) { *y = 1; }", "has no attribute such as [[buffer(0)]]");
  refused(
      "kernel void f(device float* y [[buffer(0)]], uint3 t [[thread_in_threadgroup]]) { *y = 1; }",
      "[[thread_in_threadgroup]]");
  refused("kernel int f(device float* y [[buffer(0)]]) { return 1; }", "a kernel must return void");
}

// Without options Metal takes it that nothing is NaN.
TEST_F(SoftMetalFault, FastMathIsTheDefault) {
  const std::string text = R"(
    kernel void f(device const float* x [[buffer(0)]], device float* y [[buffer(1)]]) {
      y[0] = x[0] != x[0] ? 1 : 2;
    })";
  id<MTLBuffer> x = buffer_of(std::vector<float>{NAN}), y = buffer(4);
  run(pipeline(text), {x, y}, 1);
  EXPECT_EQ(values<float>(y)[0], 1);
  NSString* source = [NSString stringWithUTF8String:(kHead + text).c_str()];
  id<MTLLibrary> library = [[device newLibraryWithSource:source options:nil
                                                   error:nullptr] autorelease];
  id<MTLFunction> f = [[library newFunctionWithName:@"f"] autorelease];
  run([[device newComputePipelineStateWithFunction:f error:nullptr] autorelease], {x, y}, 1);
  EXPECT_EQ(values<float>(y)[0], 2);
}

TEST_F(SoftMetalFault, ACompilerThatIsMissing) {
  setenv("SOFTMETAL_CLANG", "/nowhere/clang", 1);
  EXPECT_EQ(try_pipeline("kernel void f(device float* y [[buffer(0)]]) { *y = 8; }", "f"), nil);
  unsetenv("SOFTMETAL_CLANG");
  EXPECT_NE(log.find("/nowhere/clang could not be run"), std::string::npos) << log;
}

TEST_F(SoftMetalFault, AnArchiveThatIsNone) {
  MTLBinaryArchiveDescriptor* d = [[[MTLBinaryArchiveDescriptor alloc] init] autorelease];
  [d setUrl:[NSURL fileURLWithPath:@"/proc/self/cmdline"]];
  NSError* error = nil;
  EXPECT_EQ([device newBinaryArchiveWithDescriptor:d error:&error], nil);
  EXPECT_EQ([error code], MTLBinaryArchiveErrorInvalidFile);
}

}  // namespace
}  // namespace softmetal_test
