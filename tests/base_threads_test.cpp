#include "base/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "base/cpu_features.hpp"
#include "base/error.hpp"

namespace treadle {
namespace {

void covers_once(Parallel& parallel, std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
  std::atomic<std::int64_t> least{count};
  parallel.run(count, grain, [&](std::int64_t begin, std::int64_t end) {
    ASSERT_LT(begin, end);
    if (end != count) {
      std::int64_t seen = least.load();
      while (end - begin < seen && !least.compare_exchange_weak(seen, end - begin)) {
      }
    }
    for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
  });
  for (const auto& h : hits) ASSERT_EQ(h.load(), 1);
  if (count > grain) {
    EXPECT_GE(least.load(), std::min(grain, count));
  }
}

TEST(ThreadPool, CoversEachItemOnce) {
  for (int threads : {1, 2, 3, 7}) {
    const auto pool = make_thread_pool(threads);
    EXPECT_EQ(pool->threads(), threads);
    for (std::int64_t count : {0, 1, 2, 5, 100, 1001}) {
      for (std::int64_t grain : {0, 1, 3, 64, 5000}) {
        covers_once(*pool, count, grain);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ThreadPool, ManyRunsBackToBack) {
  const auto pool = make_thread_pool(4);
  std::int64_t total = 0;
  for (int i = 0; i < 20000; ++i) {
    std::atomic<std::int64_t> sum{0};
    pool->run(16, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) sum += j;
    });
    total += sum.load();
  }
  EXPECT_EQ(total, 20000 * 120);
}

TEST(ThreadPool, RunsAfterIdling) {
  const auto pool = make_thread_pool(3);
  for (int i = 0; i < 20; ++i) {
    covers_once(*pool, 50, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(ThreadPool, UsesSeveralThreads) {
  const auto pool = make_thread_pool(2);
  std::atomic<int> inside{0}, most{0};
  pool->run(2, 1, [&](std::int64_t, std::int64_t) {
    const int now = ++inside;
    if (now > most) most = now;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (most < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    --inside;
  });
  EXPECT_EQ(most.load(), 2);
}

TEST(ThreadPool, WorkersTakeTheCallersFloatingPointState) {
  const auto pool = make_thread_pool(4);
  const FlushDenormals flush;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 100; ++i) {
    pool->run(64, 1, [&](std::int64_t, std::int64_t) {
      volatile float tiny = 1e-38f;
      volatile float product = tiny * 0.01f;
      if (product != 0.0f) ++wrong;
    });
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, EndsWithoutHavingRun) {
  for (int i = 0; i < 50; ++i) make_thread_pool(4);
}

TEST(ThreadPool, RefusesImpossibleCounts) {
  EXPECT_THROW(make_thread_pool(0), Error);
  EXPECT_THROW(make_thread_pool(-3), Error);
  EXPECT_THROW(make_thread_pool(1 << 30), Error);
}

TEST(Serial, RunsInPlace) {
  const auto caller = std::this_thread::get_id();
  std::int64_t calls = 0;
  serial().run(10, 1, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(CpuFeatures, CapIsNeverAboveTheMachine) {
  const Isa best = detected_isa();
  cap_isa(Isa::Generic);
  EXPECT_EQ(active_isa(), Isa::Generic);
  cap_isa(Isa::Avx512);
  EXPECT_LE(static_cast<int>(active_isa()), static_cast<int>(best));
  cap_isa(best);
  EXPECT_GE(cache_sizes().l2, cache_sizes().l1);
}

TEST(FlushDenormals, RestoresTheState) {
  const std::uint64_t before = fp_control();
  {
    const FlushDenormals flush;
    volatile float tiny = 1e-38f;
    volatile float product = tiny * 0.01f;
    EXPECT_EQ(product, 0.0f);
  }
  EXPECT_EQ(fp_control(), before);
  volatile float tiny = 1e-38f;
  volatile float product = tiny * 0.01f;
  EXPECT_NE(product, 0.0f);
}

}  // namespace
}  // namespace treadle
