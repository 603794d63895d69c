#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "gpu/kernels/copy_params.hpp"
#include "gpu/prepared.hpp"
#include "gpu/sim/group.hpp"
#include "gpu/sim/registry.hpp"
#include "gpu_util.hpp"

// Kernels of this test alone: they are on no list.
namespace tk {

struct TestParams {
  tk_i32 n, mode;
};
struct TestShared {
  tk_u32 slot[8];
  alignas(16) float wide[256];
};

// Each warp adds its number to what the warp before it left: right only with the second barrier.
template <bool Complete>
TK_FN void relay(TK_CTX c, TK_GLOBAL tk_u32* y, TK_PARAM TestParams&, TK_SHARED TestShared& s) {
  for (tk_u32 round = 0; round < 4; ++round) {
    if (c.lane == 0) s.slot[c.warp] = round * 100 + c.warp;
    TK_BARRIER(c);
    tk_u32 sum = 0;
    for (int w = 0; w < 8; ++w) sum += s.slot[w];
    y[round * 256 + c.tid.x] = sum;
    if (Complete) TK_BARRIER(c);
  }
}

template <int Kind>
TK_FN void misuse(TK_CTX c, TK_GLOBAL tk_u32* y, TK_PARAM TestParams& p, TK_SHARED TestShared&) {
  if (Kind == 0) {  // two barriers
    if (c.tid.x < 40u) {
      TK_BARRIER(c);
    } else {
      TK_BARRIER(c);
    }
  }
  if (Kind == 1) {  // an early return
    if (c.tid.x == 77u) return;
    TK_BARRIER(c);
  }
  if (Kind == 2 && c.lane < 16u) y[0] = tk_u32(tk_warp_get(c, int(c.lane), 3));
  if (Kind == 3 && p.n >= 0) TK_BARRIER(c);
}

TK_FN void warps_body(TK_CTX c, TK_GLOBAL const float* x, TK_GLOBAL float* y) {
  const float v = x[c.tid.x];
  y[c.tid.x] = tk_warp_sum(c, v);
  y[64 + c.tid.x] = tk_warp_max(c, v);
  y[128 + c.tid.x] = tk_warp_min(c, v);
  y[192 + c.tid.x] = tk_warp_xor(c, v, 5);
  y[256 + c.tid.x] = float(tk_warp_get(c, int(c.tid.x), 31));
}
template <class T>
TK_FN void warps(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM TestParams&,
                 TK_SHARED TestShared&) {
  warps_body(c, x, y);
}

// mode 0: waits; 1: forgets to; 2: waits for all but the last commit.
template <class T>
TK_FN void async(TK_CTX c, TK_GLOBAL const T* x, TK_GLOBAL T* y, TK_PARAM TestParams& p,
                 TK_SHARED TestShared& s) {
  const int at = int(c.tid.x) * 4;
  tk_async_copy16(&s.wide[at], x + at, at < p.n);
  tk_async_commit();
  tk_async_copy16(&s.wide[at + 128], x + at, true);
  tk_async_commit();
  if (p.mode == 0) tk_async_wait<0>();
  if (p.mode == 2) tk_async_wait<1>();
  TK_BARRIER(c);
  for (int i = 0; i < 4; ++i) {
    y[at + i] = s.wide[(at + i + 4) % 128];
    y[128 + at + i] = s.wide[128 + (at + i + 4) % 128];
  }
  TK_BARRIER(c);
  if (p.mode == 2) tk_async_wait<0>();
}

}  // namespace tk

using namespace tk;
TK_KERNEL(relay_whole, relay, (true), TestParams, TestShared, sync, 256, TK_OUT(tk_u32))
TK_KERNEL(relay_short, relay, (false), TestParams, TestShared, sync, 256, TK_OUT(tk_u32))
TK_KERNEL(misuse_0, misuse, (0), TestParams, TestShared, sync, 256, TK_OUT(tk_u32))
TK_KERNEL(misuse_1, misuse, (1), TestParams, TestShared, sync, 256, TK_OUT(tk_u32))
TK_KERNEL(misuse_2, misuse, (2), TestParams, TestShared, sync, 256, TK_OUT(tk_u32))
TK_KERNEL(misuse_3, misuse, (3), TestParams, TestShared, sync, 256, TK_OUT(tk_u32))
TK_KERNEL(warps_f32, warps, (float), TestParams, TestShared, sync, 64, TK_IN(float), TK_OUT(float))
TK_KERNEL(async_f32, async, (float), TestParams, TestShared, sync, 32, TK_IN(float), TK_OUT(float))

namespace treadle::gpu {
namespace {

// Runs one group of `threads`.
void run_group(const sim::SimKernel& kernel, std::uint32_t threads, std::uint32_t seed,
               std::vector<void*> buffers, TestParams params = {0, 0}, bool barriers = true) {
  TestShared shared;
  std::memset(&shared, 0xff, sizeof shared);
  tk_ctx c{};
  c.bdim = {threads, 1, 1};
  c.gdim = {1, 1, 1};
  sim::GroupRunner runner(seed);
  runner.run(kernel, barriers, {buffers.data(), &params, &shared}, c);
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(GpuSim, ABarrierOrdersThreads) {
  for (const std::uint32_t seed : {0u, 1u, 2u, 3u}) {
    std::vector<tk_u32> y(1024);
    run_group(sim::kernel_relay_whole, 256, seed, {y.data()});
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], i / 256 * 800 + 28);
  }
}

#if defined(__SANITIZE_THREAD__)

TEST(GpuSimDeathTest, AMissingBarrierIsADataRace) {
  std::vector<tk_u32> y(1024);
  EXPECT_EXIT(
      {
        run_group(sim::kernel_relay_short, 256, 0, {y.data()});
        std::exit(0);
      },
      testing::ExitedWithCode(66), "data race");
}

#else

TEST(GpuSim, AMissingBarrierIsSeen) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    std::vector<tk_u32> y(1024);
    run_group(sim::kernel_relay_short, 256, seed, {y.data()});
    bool right = true;
    for (std::size_t i = 0; i < y.size(); ++i) right = right && y[i] == i / 256 * 800 + 28;
    EXPECT_FALSE(right) << "seed " << seed;
  }
}

#endif

TEST(GpuSim, ThreadsThatPartAreNamedWithTheirLines) {
  std::vector<tk_u32> y(64);
  const std::string two = message_of([&] { run_group(sim::kernel_misuse_0, 64, 0, {y.data()}); });
  EXPECT_NE(two.find("thread 0 waits at the barrier gpu_sim_test.cpp:"), std::string::npos) << two;
  EXPECT_NE(two.find("thread 40 waits at the barrier gpu_sim_test.cpp:"), std::string::npos) << two;
  const std::string early = message_of([&] { run_group(sim::kernel_misuse_1, 96, 7, {y.data()}); });
  EXPECT_NE(early.find("thread 77 has ended"), std::string::npos) << early;
  const std::string warp = message_of([&] { run_group(sim::kernel_misuse_2, 64, 0, {y.data()}); });
  EXPECT_NE(warp.find("waits at the warp operation"), std::string::npos) << warp;
  EXPECT_NE(warp.find("thread 16 has ended"), std::string::npos) << warp;
  const std::string unlisted = message_of([&] {
    run_group(sim::kernel_misuse_3, 64, 0, {y.data()}, {0, 0}, false);
  });
  EXPECT_NE(unlisted.find("nosync"), std::string::npos) << unlisted;
  // The runner is usable after it.
  run_group(sim::kernel_misuse_3, 64, 0, {y.data()});
}

TEST(GpuSim, WarpOperationsAreXorTrees) {
  std::vector<float> x(64), y(320);
  std::mt19937 random(1);
  for (float& v : x) v = static_cast<float>(random()) * 1e-3f;
  run_group(sim::kernel_warps_f32, 64, 5, {x.data(), y.data()});
  for (std::size_t w = 0; w < 2; ++w) {
    std::array<float, 32> sum;
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(w) * 32, 32, sum.begin());
    for (std::size_t step = 16; step > 0; step /= 2) {
      std::array<float, 32> next;
      for (std::size_t i = 0; i < 32; ++i) next[i] = sum[i] + sum[i ^ step];
      sum = next;
    }
    const auto [low, high] =
        std::minmax_element(x.begin() + static_cast<std::ptrdiff_t>(w) * 32,
                            x.begin() + static_cast<std::ptrdiff_t>(w) * 32 + 32);
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t t = w * 32 + i;
      EXPECT_EQ(y[t], sum[i]);
      EXPECT_EQ(y[64 + t], *high);
      EXPECT_EQ(y[128 + t], *low);
      EXPECT_EQ(y[192 + t], x[w * 32 + (i ^ 5)]);
      EXPECT_EQ(y[256 + t], static_cast<float>(w * 32 + 31));
    }
  }
}

TEST(GpuSim, AsynchronousCopiesAreThereAfterTheWait) {
  alignas(16) std::array<float, 128> x;
  for (std::size_t i = 0; i < 128; ++i) x[i] = static_cast<float>(i);
  std::array<float, 256> y;
  const auto source = [&](std::size_t i) { return (i % 128 + 4) % 128; };
  run_group(sim::kernel_async_f32, 32, 0, {x.data(), y.data()}, {64, 0});
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t from = source(i);
    ASSERT_EQ(y[i], i < 128 && from >= 64 ? 0.0f : static_cast<float>(from));
  }
  run_group(sim::kernel_async_f32, 32, 0, {x.data(), y.data()}, {128, 2});
  for (std::size_t i = 0; i < 128; ++i) {
    ASSERT_EQ(y[i], static_cast<float>(source(i)));
    ASSERT_TRUE(std::isnan(y[128 + i]));
  }
  const std::string forgotten = message_of([&] {
    run_group(sim::kernel_async_f32, 32, 0, {x.data(), y.data()}, {128, 1});
  });
  EXPECT_NE(forgotten.find("not waited for"), std::string::npos) << forgotten;
}

TEST(GpuSim, EveryListedKernelIsRegistered) {
  for (std::uint16_t i = 0; i < static_cast<std::uint16_t>(KernelId::kCount); ++i) {
    const sim::SimKernel& k = sim::sim_kernel(static_cast<KernelId>(i));
    EXPECT_NE(k.thread, nullptr);
    EXPECT_NE(k.group, nullptr);
    EXPECT_GT(kernel_info(static_cast<KernelId>(i)).buffers, 0);
  }
  EXPECT_THROW(sim::sim_kernel(KernelId::kCount), Error);
  EXPECT_THROW(kernel_info(KernelId::kCount), Error);
}

CopyParams plain_copy(int count) {
  CopyParams p{};
  for (tk_divisor& d : p.size) d = make_divisor(1);
  p.size[0] = make_divisor(static_cast<std::uint32_t>(count));
  p.from_stride[0] = p.to_stride[0] = 1;
  p.count = count;
  p.rank = 1;
  return p;
}

void launch_copy(Queue& q, DeviceAddress from, DeviceAddress to, int count) {
  q.launch(PreparedLaunch(KernelId::copy_nd_b4, {groups_of(count, 1024)}, {256}, {from, to},
                          plain_copy(count), "step 'a'")
               .get());
}

TEST(GpuSimDevice, CommandsRunAtSyncOnly) {
  const auto device = make_sim_device();
  const auto queue = device->make_queue();
  const auto a = device->allocate(400, "a"), b = device->allocate(400, "b");
  std::vector<float> in(100, 3.0f), out(100, 1.0f);
  queue->upload(a->address(), in.data(), 400);
  launch_copy(dynamic_cast<Queue&>(*queue), a->address(), b->address(), 100);
  queue->download(out.data(), b->address(), 400);
  EXPECT_EQ(out, std::vector<float>(100, 1.0f));
  in[7] = 5.0f;
  queue->sync();
  EXPECT_EQ(out, in);
  const DeviceCounters c = queue->counters();
  EXPECT_EQ(c.launches, 1);
  EXPECT_EQ(c.copies_to_device, 1);
  EXPECT_EQ(c.copies_to_host, 1);
  EXPECT_EQ(c.bytes_to_device, 400);
  EXPECT_EQ(c.bytes_to_host, 400);
  EXPECT_EQ(c.syncs, 1);
}

TEST(GpuSimDevice, ThreadsShareTheGroups) {
  for (const int threads : {1, 3}) {
    for (const std::uint32_t seed : {0u, 5u}) {
      const auto device = make_sim_device({seed, threads});
      const auto queue = device->make_queue();
      auto& q = dynamic_cast<Queue&>(*queue);
      constexpr int kCount = 1024 * 100 + 1;
      const auto a = device->allocate(kCount * 4, "a"), b = device->allocate(kCount * 4, "b");
      std::vector<float> in(kCount), out(kCount);
      std::iota(in.begin(), in.end(), 1.0f);
      q.upload(a->address(), in.data(), kCount * 4);
      launch_copy(q, a->address(), b->address(), kCount);
      q.download(out.data(), b->address(), kCount * 4);
      q.sync();
      EXPECT_EQ(out, in);
    }
  }
}

TEST(GpuSimDevice, FreshMemoryIsNaN) {
  const auto device = make_sim_device();
  const auto queue = device->make_queue();
  const auto a = device->allocate(64, "a");
  std::vector<float> out(16);
  queue->download(out.data(), a->address(), 64);
  queue->sync();
  for (const float v : out) EXPECT_TRUE(std::isnan(v));
}

TEST(GpuSimDeviceDeathTest, TheHostCannotTouchBuffers) {
  const auto device = make_sim_device();
  const auto a = device->allocate(64, "a");
  const auto* p = reinterpret_cast<const volatile char*>(a->address());
  EXPECT_DEATH(static_cast<void>(*p), "");
  device->make_queue()->sync();
  EXPECT_DEATH(static_cast<void>(*p), "");
}

TEST(GpuSimDevice, RecordingsRunAgain) {
  const auto device = make_sim_device();
  const auto queue = device->make_queue();
  auto& q = dynamic_cast<Queue&>(*queue);
  const auto a = device->allocate(40, "a"), b = device->allocate(40, "b");
  std::vector<float> in(10, 1.0f), out(10);
  q.begin_recording();
  EXPECT_THROW(q.begin_recording(), Error);
  q.upload(a->address(), in.data(), 40);
  launch_copy(q, a->address(), b->address(), 10);
  q.download(out.data(), b->address(), 40);
  EXPECT_THROW(q.sync(), Error);
  const auto recording = q.end_recording();
  EXPECT_THROW(q.end_recording(), Error);
  EXPECT_EQ(q.counters().launches, 0);
  for (int run = 1; run <= 3; ++run) {
    std::ranges::fill(in, static_cast<float>(run));
    q.replay(*recording);
    q.sync();
    EXPECT_EQ(out, in);
    EXPECT_EQ(q.counters().launches, run);
    EXPECT_EQ(q.counters().copies_to_host, run);
  }
}

TEST(GpuSimDevice, AddressesAreChecked) {
  const auto device = make_sim_device();
  const auto queue = device->make_queue();
  auto& q = dynamic_cast<Queue&>(*queue);
  auto a = device->allocate(40, "tensor 'a'");
  const auto b = device->allocate(40, "b");
  std::vector<float> host(100);
  EXPECT_THROW(q.upload(a->address() + 4, host.data(), 40), Error);
  EXPECT_THROW(q.download(host.data(), 16, 4), Error);
  const std::string text = message_of([&] { q.download(host.data(), a->address(), 44); });
  EXPECT_NE(text.find("tensor 'a'"), std::string::npos) << text;
  launch_copy(q, a->address(), b->address(), 10);
  a.reset();
  const std::string freed = message_of([&] { q.sync(); });
  EXPECT_NE(freed.find("step 'a': kernel copy_nd_b4"), std::string::npos) << freed;
}

TEST(GpuSimDeviceDeathTest, AWriteBesideABufferIsFound) {
  const auto device = make_sim_device();
  const auto queue = device->make_queue();
  auto& q = dynamic_cast<Queue&>(*queue);
  const auto a = device->allocate(44, "a"), b = device->allocate(40, "tensor 'b'");
  std::vector<float> in(11, 2.0f);
  q.upload(a->address(), in.data(), 44);
  launch_copy(q, a->address(), b->address(), 11);
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_DEATH(q.sync(), "buffer-overflow");
#else
  const std::string text = message_of([&] { q.sync(); });
  EXPECT_NE(text.find("wrote beside the buffer of tensor 'b'"), std::string::npos) << text;
#endif
}

TEST(GpuSimDevice, MemoryThatIsNotThereIsNamed) {
  const auto device = make_sim_device();
  try {
    device->allocate(std::size_t{1} << 50, "tensor 'big'");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Memory);
    EXPECT_NE(std::string(e.what()).find("tensor 'big'"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("1125899906842624"), std::string::npos) << e.what();
  }
  EXPECT_EQ(device->bytes_in_use(), 0u);
  {
    const auto a = device->allocate(1000, "a"), b = device->allocate(24, "b");
    EXPECT_EQ(device->bytes_in_use(), 1024u);
    EXPECT_EQ(a->address() % 256, 0u);
    EXPECT_EQ(b->address() % 256, 0u);
  }
  EXPECT_EQ(device->bytes_in_use(), 0u);
  EXPECT_EQ(device->peak_bytes(), 1024u);
}

TEST(GpuSimDevice, LaunchesThatDoNotFitAreRefused) {
  const CopyParams p = plain_copy(4);
  const auto launch = [&](Extent3 groups, Extent3 threads,
                          std::initializer_list<DeviceAddress> buffers) {
    check_launch(make_launch(KernelId::copy_nd_b4, groups, threads, buffers, p, "step"));
  };
  EXPECT_NO_THROW(launch({1}, {256}, {1, 2}));
  EXPECT_THROW(launch({1}, {256}, {1}), Error);
  EXPECT_THROW(launch({0}, {256}, {1, 2}), Error);
  EXPECT_THROW(launch({1}, {257}, {1, 2}), Error);
  EXPECT_THROW(launch({1, 65536}, {32}, {1, 2}), Error);
  EXPECT_THROW(launch({0x80000000u}, {32}, {1, 2}), Error);
  EXPECT_THROW(check_launch(make_launch(KernelId::copy_nd_b4, {1}, {32}, {1, 2}, 7, "step")),
               Error);
}

}  // namespace
}  // namespace treadle::gpu
