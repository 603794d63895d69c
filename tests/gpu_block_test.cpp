// Products with weights in blocks on a device.
#include <limits>
#include <random>

#include "gpu/block_plan.hpp"
#include "gpu/lower.hpp"
#include "gpu_product_util.hpp"
#include "graph/evaluate.hpp"
#include "ops/binary.hpp"
#include "ops/block_matmul.hpp"
#include "ops/build.hpp"
#include "plan/session.hpp"

namespace treadle::test {
namespace {

using gpu::BlockDesc;
using gpu::BlockPlan;
using kernels::Act;

std::int64_t blocks_of(const BlockDesc& d) {
  return (d.K + d.block_size - 1) / d.block_size;
}

struct Weights {
  Tensor numbers, scales, zeros;

  Weights(const BlockDesc& d, std::uint32_t seed)
      : numbers(DType::U8, {d.N, blocks_of(d), d.block_size / 8 * d.bits}),
        scales(random_tensor(DType::F32, {d.N, blocks_of(d)}, seed, -0.1F, 0.1F)),
        zeros(DType::U8, {d.N, (blocks_of(d) * d.bits + 7) / 8}) {
    std::mt19937 random(seed);
    for (Tensor* const t : {&numbers, &zeros}) {
      for (std::uint8_t& v : t->mutable_span<std::uint8_t>())
        v = static_cast<std::uint8_t>(random());
    }
  }

  double weight(const BlockDesc& d, std::int64_t k, std::int64_t n) const {
    const auto number = [&](const Tensor& t, std::int64_t i) {
      const std::int64_t row = t.bytes() / static_cast<std::size_t>(d.N), bit = i * d.bits;
      const int byte = t.span<std::uint8_t>()[static_cast<std::size_t>(n * row + bit / 8)];
      return byte >> (bit % 8) & ((1 << d.bits) - 1);
    };
    const std::int64_t block = k / d.block_size;
    const int zero = d.zeros ? number(zeros, block) : 1 << (d.bits - 1);
    return (number(numbers, k) - zero) *
           static_cast<double>(
               scales.span<float>()[static_cast<std::size_t>(n * blocks_of(d) + block)]);
  }
  Tensor packed(const BlockDesc& d) const {
    return bytes_tensor(
        DType::U8, gpu::pack_blocks(d, numbers.span<std::uint8_t>().data(), scales.span<float>(),
                                    zeros.span<std::uint8_t>().data()));
  }
};

Tensor reference(const BlockDesc& d, const Tensor& x, const Weights& w, const EpilogueData& e) {
  const std::vector<double> a = x.to_f64(), residual = e.residual.to_f64();
  Tensor y(DType::F64, {d.M, d.N});
  std::vector<double> column(static_cast<std::size_t>(d.K));
  for (std::int64_t n = 0; n < d.N; ++n) {
    for (std::int64_t k = 0; k < d.K; ++k) column[static_cast<std::size_t>(k)] = w.weight(d, k, n);
    for (std::int64_t m = 0; m < d.M; ++m) {
      double sum = 0;
      for (std::int64_t k = 0; k < d.K; ++k)
        sum += a[static_cast<std::size_t>(m * d.K + k)] * column[static_cast<std::size_t>(k)];
      y.mutable_span<double>()[static_cast<std::size_t>(m * d.N + n)] =
          e.finish(sum, m, n, residual);
    }
  }
  return y;
}

// Clipped results are smaller than the sums, whose errors they have: dequantised weights are
// rounded to f16 with it.
constexpr double kLargest = 1;

void check_variants(const BlockDesc& d, DType type, const EpilogueDesc& epilogue,
                    std::uint32_t seed, std::int64_t first = 0) {
  const Weights w(d, seed);
  const Tensor x = random_tensor(type, {d.M, d.K}, seed + 9);
  const EpilogueData e(epilogue, type, d.M, d.N, seed);
  const Tensor want = reference(d, x, w, e);
  std::vector<std::string> variants{"", "unpack", "unpack/8"};
  if (d.M <= 8) variants.push_back("gemv");
  for (const std::string& variant : variants) {
    const BlockPlan plan(d, type, epilogue, variant);
    ProductRun run(type, d.M, d.N, epilogue.y_stride, first);
    expect_product(run(plan, x, w.packed(d), e), want, type,
                   fmt::format("{}x{}x{} blocks of {}, {} bits, zeros {}, {} {} {}", d.M, d.N, d.K,
                               d.block_size, d.bits, d.zeros, variant, plan.name(), name_of(type)),
                   kLargest);
  }
}

TEST(GpuBlock, EveryVariantAndSize) {
  std::uint32_t seed = 400;
  for (const int bits : {4, 8}) {
    for (const DType type : {DType::F32, DType::F16}) {
      for (const BlockDesc d :
           {BlockDesc{1, 1, 1, 16, bits, false}, BlockDesc{1, 37, 70, 32, bits, true},
            BlockDesc{3, 64, 128, 16, bits, true}, BlockDesc{4, 33, 301, 256, bits, false},
            BlockDesc{5, 18, 96, 32, bits, false}, BlockDesc{8, 40, 45, 64, bits, true},
            BlockDesc{9, 21, 100, 32, bits, true}, BlockDesc{33, 12, 64, 16, bits, false}}) {
        check_variants(d, type, {}, ++seed);
      }
    }
  }
}

// K so long that it is split, in blocks that no split's end falls on.
TEST(GpuBlock, SplitsOfK) {
  const BlockDesc d{2, 36, 5000, 128, 4, true};
  EXPECT_EQ(BlockPlan(d, DType::F32).name(), "block_gemv_4/4");
  check_variants(d, DType::F32, {}, 501);
  check_variants({1, 30, 4200, 32, 4, false}, DType::F16, {.bias = true, .act = Act::Relu}, 502);
}

TEST(GpuBlock, Epilogues) {
  std::uint32_t seed = 600;
  for (const std::int64_t rows : {1, 6, 20}) {
    for (const Act act : {Act::None, Act::PRelu, Act::Clip, Act::Gelu}) {
      EpilogueDesc e{.bias = act != Act::None,
                     .residual = ResidualAt::BeforeAct,
                     .act = act,
                     .a = -0.5F,
                     .b = 0.5F};
      if (act == Act::Gelu) e.residual = ResidualAt::AfterAct;
      check_variants({rows, 30, 70, 32, 4, true}, DType::F32, e, ++seed);
      e.y_stride = 50;
      e.residual_stride = 41;
      check_variants({rows, 30, 70, 32, 4, true}, DType::F16, e, ++seed, 7);
    }
  }
}

// A weight of zero times infinity is NaN, whichever zero point makes it zero.
TEST(GpuBlock, NanAndInfinity) {
  for (const bool zeros : {false, true}) {
    for (const std::int64_t rows : {2, 12}) {
      const BlockDesc d{rows, 40, 50, 16, 4, zeros};
      const Weights w(d, 71);
      Tensor x = random_tensor(DType::F32, {rows, 50}, 72);
      x.mutable_span<float>()[49] = std::numeric_limits<float>::infinity();
      x.mutable_span<float>()[50] = std::numeric_limits<float>::quiet_NaN();
      const EpilogueData e({}, DType::F32, rows, 40, 1);
      ProductRun run(DType::F32, rows, 40, 0, 0);
      expect_product(run(BlockPlan(d, DType::F32), x, w.packed(d), e), reference(d, x, w, e),
                     DType::F32, "infinity");
    }
  }
}

TEST(GpuBlock, Refusals) {
  EXPECT_THROW(BlockPlan({1, 8, 32, 32, 2, false}, DType::F32), Error);
  EXPECT_THROW(BlockPlan({1, 8, 32, 32, 4, false}, DType::BF16), Error);
  EXPECT_THROW(BlockPlan({1, 8, 32, 48, 4, false}, DType::F32), Error);
  EXPECT_THROW(BlockPlan({1, 8, 0, 32, 4, false}, DType::F32), Error);
  EXPECT_THROW(BlockPlan({9, 8, 32, 32, 4, false}, DType::F32, {}, "gemv"), Error);
  EXPECT_THROW(BlockPlan({9, 8, 32, 32, 4, false}, DType::F32, {}, "tile"), Error);
  EXPECT_THROW(BlockPlan({9, 8, 32, 32, 4, false}, DType::F32, {}, "unpack/0"), Error);
}

// Through lowering: bias, residual and activation are in the step; 2 bits stay on the CPU.
TEST(GpuBlock, Lowered) {
  for (const int bits : {2, 4, 8}) {
    for (const DType type : {DType::F32, DType::F16}) {
      for (const std::int64_t rows : {0, 1, 7, 10}) {
        const BlockDesc d{rows, 37, 75, 16, bits, true};
        const Weights w(d, 81);
        const ops::BlockMatMul op(75, 16, bits);
        Graph g;
        const auto source = [&](const char* name, std::int64_t n) {
          return g.add_source(name, Fact::tensor(type, {g.named_symbol("n"), Dim(n)}));
        };
        const ValueId x = source("x", 75), r = source("r", 37);
        ValueId y = g.add1("y", make_op<ops::BlockMatMul>(op),
                           {x, g.add_constant("w", w.numbers), g.add_constant("s", w.scales),
                            g.add_constant("z", w.zeros)});
        y = ops::binary(g, "bias", ops::BinaryFn::Add, y,
                        g.add_constant("b", random_tensor(type, {37}, 5)));
        y = ops::binary(g, "sum", ops::BinaryFn::Add, y, r);
        g.set_outputs({ops::unary(g, "act", ops::UnaryFn::Relu, y)}, {"y"});
        const std::vector<Value> in{Value(random_tensor(type, {rows, 75}, 6)),
                                    Value(random_tensor(type, {rows, 37}, 7))};
        const Tensor want = evaluate(g, in).front().tensor();
        const auto program = gpu::lower(std::move(g), {}, shared_gpu_device());
        std::size_t kernels = 0;
        for (const Step& s : program->steps)
          kernels += s.queued && s.kernel->name() == "block_matmul";
        EXPECT_EQ(kernels, bits == 2 ? 0u : 1u);
        Session session(program);
        const auto error = session.run(in);
        ASSERT_FALSE(error.has_value()) << error->what();
        expect_product(session.output(0).tensor(), want, type,
                       fmt::format("{} bits, {} rows", bits, rows));
      }
    }
  }
}

}  // namespace
}  // namespace treadle::test
