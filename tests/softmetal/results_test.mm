// Kernels give what plain loops give.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>

#include "fixture.hpp"

namespace softmetal_test {
namespace {

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> v(count);
  // Multiples of 1/16 below 4: sums and products of a few are exact.
  for (float& x : v) x = static_cast<float>(static_cast<int>(random() % 128) - 64) / 16.0f;
  return v;
}

// Of a positive normal number in half's range; rounds to nearest even.
std::uint16_t to_half(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const auto significand = static_cast<int>(std::nearbyint(fraction * 2048));
  return static_cast<std::uint16_t>(((exponent + 14) << 10) + significand - 1024);
}

TEST_F(SoftMetal, EveryThreadKnowsItsPlace) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device uint* out [[buffer(0)]], uint3 g [[thread_position_in_grid]],
                  uint3 n [[threads_per_grid]], ushort2 t [[thread_position_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]],
                  uint s [[simdgroup_index_in_threadgroup]],
                  uint index [[thread_index_in_threadgroup]]) {
      const uint at = (g.z * n.y + g.y) * n.x + g.x;
      out[at] = index == s * 32 + lane ? t.x + 100 * t.y : 7777u;
    })");
  id<MTLBuffer> out = buffer(std::size_t{12} * 12 * 4 * sizeof(std::uint32_t));
  run(f, {out}, MTLSizeMake(2, 3, 4), MTLSizeMake(6, 4, 1));
  const std::vector<std::uint32_t> v = values<std::uint32_t>(out);
  for (std::uint32_t z = 0; z < 4; ++z) {
    for (std::uint32_t y = 0; y < 12; ++y) {
      for (std::uint32_t x = 0; x < 12; ++x) {
        EXPECT_EQ(v[(z * 12 + y) * 12 + x], x % 6 + 100 * (y % 4)) << x << " " << y << " " << z;
      }
    }
  }
}

TEST_F(SoftMetal, GroupsAtTheEdgeAreSmaller) {
  id<MTLComputePipelineState> f = pipeline(R"(
    [[kernel]] void f(device uint* out [[buffer(0)]], uint g [[thread_position_in_grid]],
                      uint n [[threads_per_threadgroup]]) { out[g] = n; })");
  id<MTLBuffer> out = buffer(10 * sizeof(std::uint32_t));
  id<MTLCommandBuffer> c = commands();
  id<MTLComputeCommandEncoder> e = [c computeCommandEncoder];
  [e setComputePipelineState:f];
  [e setBuffer:out offset:0 atIndex:0];
  [e dispatchThreads:MTLSizeMake(10, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
  [e endEncoding];
  [c commit];
  [c waitUntilCompleted];
  EXPECT_EQ(values<std::uint32_t>(out), (std::vector<std::uint32_t>{4, 4, 4, 4, 4, 4, 4, 4, 2, 2}));
}

TEST_F(SoftMetal, BarriersOrderThreadgroupMemory) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  uint t [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
      constexpr int kCount = 128;
      threadgroup float a[kCount], b[2][64];
      a[t] = x[g];
      threadgroup_barrier(mem_flags::mem_threadgroup);
      b[t / 64][t % 64] = a[127 - t];
      threadgroup_barrier(mem_flags::mem_threadgroup);
      y[g] = b[t / 64][63 - t % 64] + a[t];
    })");
  if (f == nil) return;
  EXPECT_EQ([f staticThreadgroupMemoryLength], 1024u);
  const std::vector<float> x = random_floats(512, 1);
  id<MTLBuffer> out = buffer(512 * sizeof(float));
  run(f, {buffer_of(x), out}, MTLSizeMake(4, 1, 1), MTLSizeMake(128, 1, 1));
  const std::vector<float> y = values<float>(out);
  for (std::size_t i = 0; i < 512; ++i) {
    const std::size_t t = i % 128, from = t / 64 * 64 + 63 - t % 64;
    EXPECT_EQ(y[i], x[i - t + 127 - from] + x[i]);
  }
}

TEST_F(SoftMetal, MemoryOfThreadgroupArguments) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device uint* y [[buffer(0)]], threadgroup uint* a [[threadgroup(0)]],
                  uint t [[thread_position_in_threadgroup]]) {
      a[t] = t * t;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      y[t] = a[63 - t];
    })");
  id<MTLBuffer> out = buffer(64 * sizeof(std::uint32_t));
  id<MTLCommandBuffer> c = commands();
  id<MTLComputeCommandEncoder> e = [c computeCommandEncoder];
  [e setComputePipelineState:f];
  [e setBuffer:out offset:0 atIndex:0];
  [e setThreadgroupMemoryLength:256 atIndex:0];
  [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
  [e endEncoding];
  [c commit];
  [c waitUntilCompleted];
  for (std::uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(values<std::uint32_t>(out)[t], (63 - t) * (63 - t));
  }
}

TEST_F(SoftMetal, SimdgroupOperations) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  uint t [[thread_position_in_threadgroup]]) {
      const float v = x[t];
      device float* r = y + t * 8;
      r[0] = simd_sum(v);
      r[1] = simd_max(v);
      r[2] = simd_shuffle_xor(v, 5);
      r[3] = simd_shuffle(v, 31);
      r[4] = simd_shuffle_down(v, 1);
      r[5] = simd_prefix_inclusive_sum(v);
      r[6] = float(simd_any(v > 3.5f));
      r[7] = quad_sum(v);
    })");
  const std::vector<float> x = random_floats(64, 2);
  id<MTLBuffer> out = buffer(64 * 8 * sizeof(float));
  run(f, {buffer_of(x), out}, 64);
  const std::vector<float> y = values<float>(out);
  for (std::size_t t = 0; t < 64; ++t) {
    const float* own = x.data() + t / 32 * 32;
    const std::size_t lane = t % 32, quad = lane / 4 * 4;
    EXPECT_EQ(y[t * 8], std::accumulate(own, own + 32, 0.0f));
    EXPECT_EQ(y[t * 8 + 1], *std::max_element(own, own + 32));
    EXPECT_EQ(y[t * 8 + 2], own[lane ^ 5]);
    EXPECT_EQ(y[t * 8 + 3], own[31]);
    EXPECT_EQ(y[t * 8 + 4], own[lane < 31 ? lane + 1 : 31]);
    EXPECT_EQ(y[t * 8 + 5], std::accumulate(own, own + lane + 1, 0.0f));
    EXPECT_EQ(y[t * 8 + 6], *std::max_element(own, own + 32) > 3.5f ? 1.0f : 0.0f);
    EXPECT_EQ(y[t * 8 + 7], std::accumulate(own + quad, own + quad + 4, 0.0f));
  }
}

// Lanes that have ended take no part.
TEST_F(SoftMetal, SimdgroupsOfLanesThatAreLeft) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device float* y [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
      if (t >= 20) return;
      y[t] = simd_sum(1.0f);
    })");
  id<MTLBuffer> out = buffer(20 * sizeof(float));
  run(f, {out}, 32);
  EXPECT_EQ(values<float>(out), std::vector<float>(20, 20.0f));
}

// a·b is rounded to half before c is added, and the sum is rounded again: 1.0009765625² is
// 1.00195407867431640625, which lies between two halves.
TEST_F(SoftMetal, HalfRoundsAfterEachOperation) {
  id<MTLComputePipelineState> f = pipeline(R"(
    #pragma METAL fp contract(off)
    kernel void f(device const half* x [[buffer(0)]], device half* y [[buffer(1)]],
                  device float* z [[buffer(2)]], uint t [[thread_position_in_threadgroup]]) {
      const half a = x[3 * t], b = x[3 * t + 1], c = x[3 * t + 2];
      y[t] = a * b - c;
      z[t] = float(a * b);
    })");
  const double numbers[] = {1.0009765625, 1.0009765625, 1, 3.140625, 2.71875, 8, 1.5, 1.25, 1};
  std::vector<std::uint16_t> x;
  for (const double v : numbers) x.push_back(to_half(v));
  id<MTLBuffer> y = buffer(3 * sizeof(std::uint16_t)), z = buffer(3 * sizeof(float));
  run(f, {buffer_of(x), y, z}, 3);
  // Between 1 and 2 halves are 2^-10 apart, between 8 and 16 2^-7.
  const double products[] = {1.001953125, 8.5390625, 1.875};
  const double differences[] = {0.001953125, 0.5390625, 0.875};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(values<float>(z)[i], static_cast<float>(products[i]));
    EXPECT_EQ(values<std::uint16_t>(y)[i], to_half(differences[i]));
  }
}

TEST_F(SoftMetal, VectorsAndCasts) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device const float4* x [[buffer(0)]], device float4* y [[buffer(1)]],
                  device uint* z [[buffer(2)]]) {
      const half4 h = half4(x[0]);
      const vec<float, 2> two = vec<float, 2>(x[0].x, 5);
      y[0] = float4(h.yx, float2(two.y, as_type<float>(0x40000000u)));
      y[1] = fma(x[0], float4(2.0f), float4(float3(1), 0)) + max(x[0], 0.0f * x[0]);
      z[0] = popcount(0xf0fu) + mulhi(0x80000000u, 6u);
    })");
  id<MTLBuffer> y = buffer(32), z = buffer(4);
  run(f, {buffer_of(std::vector<float>{1, 2, -3, 4}), y, z}, 1);
  EXPECT_EQ(values<float>(y), (std::vector<float>{2, 1, 5, 2, 4, 7, -5, 12}));
  EXPECT_EQ(values<std::uint32_t>(z)[0], 8u + 3u);
}

TEST_F(SoftMetal, AtomicsOfAllGroups) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device atomic_uint* n [[buffer(0)]], uint g [[thread_position_in_grid]]) {
      atomic_fetch_add_explicit(n, g, memory_order_relaxed);
    })");
  id<MTLBuffer> n = buffer(4);
  run(f, {n}, MTLSizeMake(100, 1, 1), MTLSizeMake(100, 1, 1));
  EXPECT_EQ(values<std::uint32_t>(n)[0], 9999u * 10000u / 2);
}

TEST_F(SoftMetal, SimdgroupMatricesMultiply) {
  id<MTLComputePipelineState> f = pipeline(R"(
    template <typename T>
    inline void multiply(device const T* a, device const T* b, device float* c) {
      simdgroup_matrix<float, 8, 8> sum = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
      for (uint k = 0; k < 24; k += 8) {
        simdgroup_matrix<T, 8, 8> ma, mb;
        simdgroup_load(ma, a + k, 24);
        simdgroup_load(mb, b, 24, ulong2(k, 0), true);
        simdgroup_multiply_accumulate(sum, ma, mb, sum);
      }
      simdgroup_store(sum, c, 8);
    }
    kernel void of_float(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                         device float* c [[buffer(2)]]) { multiply(a, b, c); }
    kernel void of_half(device const half* a [[buffer(0)]], device const half* b [[buffer(1)]],
                        device float* c [[buffer(2)]]) { multiply(a, b, c); })",
                                           "of_float");
  const std::vector<float> a = random_floats(8 * 24, 3), b = random_floats(8 * 24, 4);
  id<MTLBuffer> c = buffer(64 * sizeof(float));
  run(f, {buffer_of(a), buffer_of(b), c}, 32);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      float sum = 0.5f;
      for (std::size_t k = 0; k < 24; ++k) sum += a[i * 24 + k] * b[j * 24 + k];
      EXPECT_EQ(values<float>(c)[i * 8 + j], sum) << i << " " << j;
    }
  }
}

TEST_F(SoftMetal, PagesOfTheCaller) {
  id<MTLComputePipelineState> f = pipeline(R"(
    kernel void f(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  uint g [[thread_position_in_grid]]) { y[g] = 2 * x[g]; })");
  void* memory = nullptr;
  ASSERT_EQ(posix_memalign(&memory, 4096, 8192), 0);
  float* pages = static_cast<float*>(memory);
  for (int i = 0; i < 2048; ++i) pages[i] = static_cast<float>(i);
  id<MTLBuffer> x = [device newBufferWithBytesNoCopy:memory
                                              length:8192
                                             options:MTLResourceStorageModeShared
                                         deallocator:nil];
  EXPECT_EQ([x contents], memory);
  id<MTLBuffer> y = buffer(8192);
  run(f, {x, y}, MTLSizeMake(16, 1, 1), MTLSizeMake(128, 1, 1));
  EXPECT_EQ(values<float>(y)[2047], 4094.0f);
  pages[3] = 7;
  run(f, {x, y}, MTLSizeMake(16, 1, 1), MTLSizeMake(128, 1, 1));
  EXPECT_EQ(values<float>(y)[3], 14.0f);
  [x release];
  free(memory);
}

TEST_F(SoftMetal, CopiesAndFills) {
  id<MTLBuffer> a = buffer_of(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}), b = buffer(8);
  id<MTLCommandBuffer> c = commands();
  id<MTLBlitCommandEncoder> e = [c blitCommandEncoder];
  [e fillBuffer:b range:NSMakeRange(0, 8) value:9];
  [e copyFromBuffer:a sourceOffset:2 toBuffer:b destinationOffset:1 size:4];
  [e endEncoding];
  [c commit];
  [c waitUntilCompleted];
  EXPECT_EQ(values<std::uint8_t>(b), (std::vector<std::uint8_t>{9, 3, 4, 5, 6, 9, 9, 9}));
}

}  // namespace
}  // namespace softmetal_test
