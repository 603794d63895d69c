#include "gpu/copy_plan.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "gpu_util.hpp"

namespace treadle::gpu {
namespace {

DType dtype_of_bytes(std::size_t bytes) {
  return bytes == 1 ? DType::U8 : bytes == 2 ? DType::U16 : bytes == 4 ? DType::U32 : DType::U64;
}

// The same copy on the device and by ops::copy_strided, which is what Slice, Transpose and Concat
// evaluate with; bytes that are not written stay.
void check_copy(DType dtype, const std::vector<std::int64_t>& sizes, const ops::Strided& to,
                const ops::Strided& from, const Tensor& x, std::int64_t to_elements,
                const std::string& what) {
  Tensor want = test::random_tensor(dtype, {to_elements}, 99, 0, 100);
  test::GpuRun run;
  const auto dx = run.put(x);
  const auto dy = run.put(want.clone());
  CopyPlan(sizes, to, from, size_of(dtype)).run(run.queue(), dx.address(), dy.address(), "copy");
  ops::copy_strided(dtype, sizes, want.mutable_data(), to, x.data(), from);
  EXPECT_TRUE(run.get(dy).identical(want)) << what;
}

std::string describe(const std::vector<std::int64_t>& sizes, const ops::Strided& to,
                     const ops::Strided& from, std::size_t bytes) {
  return fmt::format("sizes {} to {}+{} from {}+{} bytes {}", fmt::join(sizes, ","), to.offset,
                     fmt::join(to.strides, ","), from.offset, fmt::join(from.strides, ","), bytes);
}

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes) {
  return ops::row_major(sizes);
}

// Random permutations, steps, offsets, broadcasts and reversals of up to six axes.
TEST(GpuCopy, RandomStrides) {
  std::mt19937 random(11);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 300; ++round) {
    const std::size_t bytes = std::size_t{1} << pick(0, 3);
    const auto rank = static_cast<std::size_t>(pick(0, 6));
    std::vector<std::int64_t> sizes, from_sizes, to_sizes;
    for (std::size_t i = 0; i < rank; ++i) {
      sizes.push_back(rank <= 3 && pick(0, 1) == 0 ? pick(1, 40) : pick(1, 5));
      if (pick(0, 2) == 0) sizes.back() *= 4;
    }
    const auto whole = [&](std::vector<std::int64_t>& room) {
      room = sizes;
      for (auto& r : room) r = pick(0, 2) == 0 ? r * 2 + pick(0, 2) : r;
      ops::Strided s{0, row_major(room)};
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t slack = room[i] - sizes[i];
        if (slack >= sizes[i] && pick(0, 1) == 0) {
          s.strides[i] *= 2;
        } else if (slack > 0) {
          s.offset += s.strides[i] * pick(0, slack);
        }
      }
      return s;
    };
    ops::Strided to = whole(to_sizes), from = whole(from_sizes);
    for (std::size_t i = 0; i < rank; ++i) {
      if (pick(0, 7) == 0) from.strides[i] = 0;
      if (pick(0, 7) == 0) {
        from.offset += from.strides[i] * (sizes[i] - 1);
        from.strides[i] = -from.strides[i];
      }
    }
    // A permutation of the axes of one side: of both sizes and the strides of the other.
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int64_t> s, t, f;
    for (const std::size_t i : order) {
      s.push_back(sizes[i]);
      t.push_back(to.strides[i]);
      f.push_back(from.strides[i]);
    }
    to.strides = t;
    from.strides = f;
    const auto count = [](const std::vector<std::int64_t>& v) {
      return std::accumulate(v.begin(), v.end(), std::int64_t{1}, std::multiplies<>());
    };
    const DType dtype = dtype_of_bytes(bytes);
    const Tensor x =
        test::random_tensor(dtype, {count(from_sizes)}, static_cast<std::uint32_t>(round), 0, 200);
    check_copy(dtype, s, to, from, x, count(to_sizes), describe(s, to, from, bytes));
    if (HasFailure()) return;
  }
}

TEST(GpuCopy, Transposes) {
  for (const std::size_t bytes : {1, 2, 4, 8}) {
    const DType dtype = dtype_of_bytes(bytes);
    for (const std::vector<std::int64_t>& s : std::vector<std::vector<std::int64_t>>{{1, 33, 65},
                                                                                     {3, 31, 32},
                                                                                     {2, 1, 1025},
                                                                                     {1, 1025, 8},
                                                                                     {2, 64, 100},
                                                                                     {1, 7, 7},
                                                                                     {1, 9, 8}}) {
      // [n, a, b] → [n, b, a].
      const ops::Strided from{0, row_major(s)};
      const ops::Strided to{0, {s[1] * s[2], 1, s[1]}};
      const Tensor x = test::random_tensor(dtype, {s[0] * s[1] * s[2]}, 3, 0, 200);
      check_copy(dtype, s, to, from, x, x.elements(), describe(s, to, from, bytes));
    }
  }
}

TEST(GpuCopy, LongAxesAndNone) {
  for (const std::int64_t n : {1, 1025, 65537}) {
    const Tensor x = test::random_tensor(DType::F32, {n * 3}, 1);
    const std::vector<std::int64_t> wide = {3, n}, tall = {n, 3};
    check_copy(DType::F32, wide, {0, {n, 1}}, {0, {n, 1}}, x, 3 * n, "plain");
    check_copy(DType::F32, wide, {0, {1, 3}}, {0, {n, 1}}, x, 3 * n, "to columns");
    check_copy(DType::F32, tall, {0, {1, n}}, {0, {3, 1}}, x, 3 * n, "to rows");
    check_copy(DType::F32, tall, {0, {3, 1}}, {0, {0, 1}}, x, 3 * n, "broadcast");
  }
  const Tensor x = test::random_tensor(DType::F32, {4}, 1);
  const std::vector<std::int64_t> none = {3, 0}, scalar = {};
  check_copy(DType::F32, none, {0, {0, 1}}, {0, {0, 1}}, x, 4, "empty");
  check_copy(DType::F32, scalar, {2, {}}, {1, {}}, x, 4, "scalar");
}

TEST(GpuCopy, DenseCopiesMoveSixteenBytes) {
  const std::vector<std::int64_t> sizes = {4, 3, 64};
  const CopyPlan plan(sizes, {128, {640, 128, 1}}, {0, {192, 64, 1}}, 2);
  const auto device = make_sim_device();
  const auto a = device->allocate(4096, "a"), b = device->allocate(8192, "b");
  EXPECT_EQ(plan.prepare(a->address(), b->address(), "")[0].get().kernel, KernelId::copy_nd_b16);
  EXPECT_EQ(plan.prepare(a->address() + 8, b->address(), "")[0].get().kernel, KernelId::copy_nd_b8);
  EXPECT_EQ(plan.prepare(a->address() + 2, b->address(), "")[0].get().kernel, KernelId::copy_nd_b2);
}

TEST(GpuCopy, Fill) {
  for (const std::size_t bytes : {1, 2, 4, 8}) {
    const DType dtype = dtype_of_bytes(bytes);
    for (const std::int64_t count : {0, 1, 7, 16, 1025, 4096}) {
      for (const std::int64_t skip : {0, 1}) {
        Tensor want = test::random_tensor(dtype, {count + skip + 1}, 5, 0, 100);
        const std::uint64_t value = 0x8877665544332211u;
        test::GpuRun run;
        const auto d = run.put(want.clone());
        const auto first = static_cast<std::size_t>(skip) * bytes;
        gpu::run(run.queue(), prepare_fill(d.address() + first, count, &value, bytes, "fill"));
        for (std::int64_t i = 0; i < count; ++i) {
          std::memcpy(
              static_cast<char*>(want.mutable_data()) + first + static_cast<std::size_t>(i) * bytes,
              &value, bytes);
        }
        EXPECT_TRUE(run.get(d).identical(want)) << bytes << " bytes, " << count;
      }
    }
  }
}

TEST(GpuCopyPlan, Limits) {
  const std::vector<std::int64_t> seven(7, 2), large = {1 << 16, 1 << 16};
  const std::vector<std::int64_t> apart = {64, 32, 16, 8, 4, 2, 1},
                                  other = {1, 2, 4, 8, 16, 32, 64};
  EXPECT_THROW(CopyPlan(seven, {0, apart}, {0, other}, 4), Error);
  EXPECT_NO_THROW(CopyPlan(seven, {0, apart}, {0, apart}, 4));
  EXPECT_THROW(CopyPlan(large, {0, {1 << 16, 1}}, {0, {1 << 16, 1}}, 4), Error);
  const std::vector<std::int64_t> two = {2};
  EXPECT_THROW(CopyPlan(two, {0, {std::int64_t{1} << 32}}, {0, {1}}, 4), Error);
  EXPECT_THROW(CopyPlan(two, {0, {1, 1}}, {0, {1}}, 4), Error);
  EXPECT_THROW(CopyPlan(two, {0, {1}}, {0, {1}}, 3), Error);
}

}  // namespace
}  // namespace treadle::gpu
