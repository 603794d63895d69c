// Attention on the device against the operator's eval.
#include <algorithm>
#include <limits>

#include "gpu/attention_plan.hpp"
#include "gpu_util.hpp"
#include "ops/attention.hpp"

namespace treadle::gpu {
namespace {

using ops::Attention;
using test::expect_close;
using test::GpuRun;
using test::random_tensor;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Inputs {
  Tensor q, k, v;
  std::optional<Tensor> mask;

  std::vector<Tensor> list() const {
    std::vector<Tensor> all{q, k, v};
    if (mask) all.push_back(*mask);
    return all;
  }
  std::string str() const {
    return fmt::format("q {} k {} v {} mask {} {}", q.shape().str(), k.shape().str(),
                       v.shape().str(), mask ? mask->shape().str() : "none", name_of(q.dtype()));
  }
};

AttentionDesc desc_of(const Attention& op, const Inputs& in) {
  return attention_desc(op, op.offset.value(), in.q.shape(), in.k.shape(), in.v.shape(),
                        in.mask ? std::optional(in.mask->shape()) : std::nullopt);
}

Tensor on_device(const Attention& op, const Inputs& in, std::string_view variant = {},
                 Device& device = test::gpu_device()) {
  GpuRun gpu(device);
  const AttentionPlan plan(desc_of(op, in), in.q.dtype(), variant);
  const auto q = gpu.put(in.q), k = gpu.put(in.k), v = gpu.put(in.v);
  const Shape& s = in.q.shape();
  const auto y = gpu.make(in.q.dtype(), {s[0], s[1], s[2], in.v.shape()[3]});
  const auto bytes = static_cast<std::int64_t>(plan.workspace_bytes());
  const auto workspace = gpu.make(DType::U8, {bytes});
  AttentionAddresses at{q.address(), k.address(), v.address(), 0, y.address()};
  if (in.mask) at.mask = gpu.put(*in.mask).address();
  plan.run(gpu.queue(), at, workspace.address(), "an attention");
  return gpu.get(y);
}

// Every variant; that for few queries where they are, as it takes a group a row.
std::vector<std::string> variants(const Attention& op, const Inputs& in) {
  const Shape& q = in.q.shape();
  std::vector<std::string> all;
  for (const std::string& name : attention_variants(desc_of(op, in))) {
    if (name == "few" && q[0] * q[1] * q[2] > 100) continue;
    all.push_back(name);
    if (name == "few" && op.left < 0 && op.right < 0 && in.k.shape()[2] > 512)
      all.emplace_back("few/3");
  }
  return all;
}

void expect_reference(const Attention& op, const Inputs& in) {
  const Tensor want = evaluate(op, in.list()).front();
  for (const std::string& variant : variants(op, in)) {
    expect_close(on_device(op, in, variant), want,
                 fmt::format("{} window {} {} offset {} softcap {} {}", in.str(), op.left, op.right,
                             op.offset.value(), op.softcap, variant));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// [batch, heads, queries, size], keys of `kv_heads` heads, values of `width` columns.
struct Sizes {
  std::int64_t batch, heads, kv_heads, queries, keys, depth, width;
};

Inputs inputs(const Sizes& s, DType type, std::uint32_t seed) {
  return {random_tensor(type, {s.batch, s.heads, s.queries, s.depth}, seed),
          random_tensor(type, {s.batch, s.kv_heads, s.keys, s.depth}, seed + 1),
          random_tensor(type, {s.batch, s.kv_heads, s.keys, s.width}, seed + 2),
          {}};
}

Attention attention(const Sizes& s) {
  Attention op;
  op.scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(s.depth, 1)));
  return op;
}

// A mask in which every third key of some rows is out, and row 1 altogether.
Tensor mask_of(DType type, const Shape& shape, std::uint32_t seed) {
  Tensor mask = random_tensor(type, shape, seed);
  dispatch(type, [&]<typename T>(T) {
    const auto m = mask.mutable_span<T>();
    const auto keys = static_cast<std::size_t>(shape[3]);
    for (std::size_t i = 0; i < m.size(); ++i) {
      const std::size_t row = i / keys % static_cast<std::size_t>(shape[2]), key = i % keys;
      if constexpr (!std::is_integral_v<T>)
        if ((row + key) % 3 == 0 || row == 1) m[i] = T(-kInf);
    }
  });
  return mask;
}

constexpr Sizes kSizes[] = {
    {1, 1, 1, 1, 1, 1, 1},      {1, 2, 1, 3, 5, 2, 3},        {3, 4, 2, 65, 63, 64, 64},
    {1, 1, 1, 64, 128, 80, 80}, {2, 3, 3, 130, 70, 128, 128}, {1, 2, 2, 17, 1025, 24, 33},
    {1, 8, 2, 1, 1025, 64, 64}, {1, 1, 1, 1025, 129, 16, 8},  {1, 4, 1, 1, 200, 64, 64},
    {1, 2, 2, 66, 66, 65, 130}, {1, 1, 1, 20, 90, 130, 97},   {1, 1, 1, 9, 16, 300, 260},
    {2, 6, 2, 2, 64, 96, 96},   {1, 2, 1, 5, 7, 0, 4},
};

TEST(GpuAttention, EveryKindOfShape) {
  std::uint32_t seed = 1;
  for (const Sizes& s : kSizes) {
    for (const DType type : {DType::F32, DType::F16}) {
      expect_reference(attention(s), inputs(s, type, seed += 3));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GpuAttention, NothingToReadOrToCompute) {
  for (const Sizes& s : {Sizes{0, 2, 1, 3, 4, 8, 8},
                         {1, 2, 1, 0, 4, 8, 8},
                         {1, 2, 1, 3, 4, 8, 0},
                         {1, 0, 1, 3, 4, 8, 8},
                         {1, 2, 1, 3, 0, 8, 8}}) {
    for (const DType type : {DType::F32, DType::F16})
      expect_reference(attention(s), inputs(s, type, 5));
  }
}

TEST(GpuAttention, MasksOfEveryShape) {
  std::uint32_t seed = 100;
  for (const Sizes& s : kSizes) {
    for (int axes = 0; axes<16; axes += s.queries> 200 || s.keys > 200 ? 5 : 3) {
      const auto axis = [&](int bit, std::int64_t size) { return (axes >> bit & 1) ? size : 1; };
      const Shape shape{axis(0, s.batch), axis(1, s.heads), axis(2, s.queries), axis(3, s.keys)};
      const DType type = axes % 2 ? DType::F16 : DType::F32;
      Inputs in = inputs(s, type, seed += 4);
      in.mask = mask_of(type, shape, seed + 3);
      expect_reference(attention(s), in);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GpuAttention, WindowsOffsetsAndSoftcap) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  struct {
    std::int64_t left, right, offset;
    double softcap;
  } const cases[] = {{-1, 0, 0, 0},    {-1, 0, 60, 3},   {-1, 0, -70, 0},  {20, -1, 0, 0},
                     {0, 0, 0, 1.5},   {70, 3, 10, 0},   {3, 70, -5, 20},  {-1, kHuge, 0, 0},
                     {kHuge, 0, 7, 0}, {5, 5, kHuge, 0}, {5, 5, -kHuge, 0}};
  std::uint32_t seed = 300;
  for (const Sizes& s : {Sizes{1, 2, 1, 130, 130, 32, 32},
                         {2, 2, 2, 40, 200, 16, 70},
                         {1, 1, 1, 200, 40, 8, 20},
                         {1, 3, 1, 1, 100, 64, 64}}) {
    for (const auto& c : cases) {
      for (const bool masked : {false, true}) {
        const DType type = masked == (c.left < 0) ? DType::F32 : DType::F16;
        Attention op = attention(s);
        op.left = c.left;
        op.right = c.right;
        op.offset = c.offset;
        op.softcap = c.softcap;
        Inputs in = inputs(s, type, seed += 4);
        if (masked) in.mask = mask_of(type, {1, 1, s.queries, s.keys}, seed + 3);
        expect_reference(op, in);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// What a row may not read, NaN or infinite, does not show in it; what it may read does.
TEST(GpuAttention, NansAndInfinities) {
  const Sizes s{1, 1, 1, 80, 300, 16, 40};
  for (const float special : {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf}) {
    for (const int where : {0, 1, 2, 3}) {
      for (const std::int64_t right : {-1, 0}) {
        Inputs in = inputs(s, DType::F32, 7);
        in.mask = mask_of(DType::F32, {1, 1, s.queries, s.keys}, 8);
        Tensor* const all[] = {&in.q, &in.k, &in.v, &*in.mask};
        const auto values = all[where]->mutable_span<float>();
        // Two elements of rows 5 and 70 of the first head.
        const auto row = static_cast<std::size_t>(all[where]->shape()[3]);
        values[5 * row + 3] = values[70 * row + 9] = special;
        Attention op = attention(s);
        op.right = right;
        expect_reference(op, in);
        in.mask.reset();
        if (where < 3) expect_reference(op, in);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuAttention, RowsWhoseScoresAreInfinite) {
  const Sizes s{1, 1, 1, 70, 70, 8, 8};
  for (const float mask : {kInf, -kInf}) {
    for (const float product : {kInf, -kInf}) {
      Inputs in = inputs(s, DType::F32, 3);
      in.mask = random_tensor(DType::F32, {1, 1, 1, 70}, 4);
      for (float& v : in.mask->mutable_span<float>()) v = mask;
      for (float& v : in.q.mutable_span<float>()) v = product;
      for (float& v : in.k.mutable_span<float>()) v = 1;
      expect_reference(attention(s), in);
      in.mask.reset();
      expect_reference(attention(s), in);
    }
  }
}

TEST(GpuAttention, LargeScoresDoNotOverflow) {
  const Sizes s{1, 1, 1, 20, 200, 4, 8};
  Inputs in = inputs(s, DType::F32, 3);
  in.mask = random_tensor(DType::F32, {1, 1, 20, 200}, 4, 900, 1000);
  // Scores of a thousand are a part in 10^7 apart from those of the reference.
  const auto expect = [&] {
    expect_close(on_device(attention(s), in), evaluate(attention(s), in.list()).front(), 3e-4, 3e-4,
                 in.str());
  };
  expect();
  in.mask = random_tensor(DType::F32, {1, 1, 20, 200}, 4, -1000, -900);
  expect();
}

TEST(GpuAttention, TheSameBitsEveryTime) {
  const Sizes s{1, 3, 1, 100, 300, 40, 40};
  const Inputs in = inputs(s, DType::F32, 11);
  EXPECT_EQ(on_device(attention(s), in).to_f64(), on_device(attention(s), in).to_f64());
}

TEST(GpuAttention, OperandsThatAreNotAligned) {
  const Sizes s{1, 1, 1, 10, 70, 32, 32};
  const Inputs in = inputs(s, DType::F32, 12);
  const auto shifted = [](const Tensor& t) {
    Tensor all(DType::F32, {t.elements() + 1});
    std::copy_n(t.span<float>().data(), t.elements(), all.mutable_span<float>().data() + 1);
    return all;
  };
  GpuRun gpu;
  const auto q = gpu.put(shifted(in.q)), k = gpu.put(shifted(in.k)), v = gpu.put(shifted(in.v)),
             y = gpu.make(DType::F32, {1, 1, s.queries, s.width});
  AttentionPlan(desc_of(attention(s), in), DType::F32, "tile_32")
      .run(gpu.queue(), {q.address() + 4, k.address() + 4, v.address() + 4, 0, y.address()}, 0,
           "an attention");
  expect_close(gpu.get(y), evaluate(attention(s), in.list()).front(), "unaligned");
}

TEST(GpuAttention, MetalsOwnKernelsAgreeWithThePortableOnes) {
  if (test::gpu_device().kind() != "metal") GTEST_SKIP() << "the device is not Metal";
  const auto portable = make_metal_device({"", false}), own = make_metal_device();
  ASSERT_NE(portable.get(), own.get());
  for (const std::int64_t width : {32, 50, 96, 128}) {
    for (const DType type : {DType::F32, DType::F16}) {
      for (const std::int64_t right : {-1, 0}) {
        const Sizes s{1, 2, 1, 70, 150, 40, width};
        Inputs in = inputs(s, type, 21);
        in.mask = mask_of(type, {1, 1, s.queries, s.keys}, 22);
        Attention op = attention(s);
        op.right = right;
        const double part = type == DType::F32 ? 2e-6 : 1e-3;
        const Tensor got = on_device(op, in, "", *own);
        expect_close(got, on_device(op, in, "", *portable), part, part, in.str());
        expect_close(on_device(op, in, "", *own), got, 0, 0, in.str() + " again");
      }
    }
  }
}

TEST(GpuAttention, RefusesWhatItDoesNotCompute) {
  const auto refused = [](const AttentionDesc& d, DType type) {
    try {
      const AttentionPlan plan(d, type);
    } catch (const Error& e) {
      return e.kind() == ErrorKind::Unsupported;
    }
    return false;
  };
  AttentionDesc d;
  d.q = d.k = d.v = {1, 1, 4, 8};
  EXPECT_FALSE(refused(d, DType::F16));
  EXPECT_TRUE(refused(d, DType::BF16));
  d.k = d.v = {1, 1, 1 << 28, 8};
  EXPECT_TRUE(refused(d, DType::F32));
}

TEST(GpuAttention, FewQueriesShareOutTheKeys) {
  AttentionDesc d;
  d.q = {1, 8, 1, 64};
  d.k = d.v = {1, 2, 4096, 64};
  EXPECT_EQ(AttentionPlan(d, DType::F16).name(), "few/16");
  // A window of 600 keys.
  d.left = 599;
  d.right = 0;
  d.offset = 4095;
  EXPECT_EQ(AttentionPlan(d, DType::F16).name(), "few/3");
  // More rows than there is room for at a time; more queries than a tile has.
  d.q = {64, 8, 1, 64};
  d.k = d.v = {64, 2, 4096, 64};
  d.left = -1;
  EXPECT_EQ(AttentionPlan(d, DType::F16).name(), "few");
  d.q = {64, 8, 65, 64};
  EXPECT_EQ(AttentionPlan(d, DType::F16).name(), "tile_64");
  EXPECT_EQ(AttentionPlan(d, DType::F16, "few").name(), "few");
  EXPECT_THROW(AttentionPlan(d, DType::F16, "tile_32"), Error);
  EXPECT_THROW(AttentionPlan(d, DType::F16, "few/0"), Error);
  EXPECT_THROW(AttentionPlan(d, DType::F16, "few/99"), Error);
}

}  // namespace
}  // namespace treadle::gpu
