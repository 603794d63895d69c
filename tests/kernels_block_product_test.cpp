#include "kernels/block_product/block_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.hpp"
#include "kernels/block_product/kernel.hpp"
#include "kernels_util.hpp"

namespace treadle::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::uint8_t> random_bytes(std::mt19937& random, std::int64_t n) {
  std::vector<std::uint8_t> v(static_cast<std::size_t>(n));
  for (std::uint8_t& b : v) b = static_cast<std::uint8_t>(random());
  return v;
}

// A product and its weights.
struct Problem {
  BlockShape shape;
  std::vector<std::uint8_t> numbers, zeros;
  std::vector<float> scales;

  Problem(std::mt19937& random, std::int64_t N, std::int64_t K, std::int64_t block, int bits,
          bool with_zeros) {
    shape.N = N;
    shape.K = K;
    shape.block_size = block;
    shape.bits = bits;
    shape.zeros = with_zeros;
    numbers = random_bytes(random, N * shape.blocks() * block * bits / 8);
    scales = random_floats(random, N * shape.blocks());
    if (with_zeros) zeros = random_bytes(random, N * ((shape.blocks() * bits + 7) / 8));
  }

  static int number(const std::uint8_t* bytes, std::int64_t i, int bits) {
    int value = 0;
    for (int b = 0; b < bits; ++b)
      value |= (bytes[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1) << b;
    return value;
  }
  double weight(std::int64_t k, std::int64_t n) const {
    const std::int64_t blocks = shape.blocks(), block = k / shape.block_size;
    const int zero =
        shape.zeros ? number(zeros.data() + n * ((blocks * shape.bits + 7) / 8), block, shape.bits)
                    : 1 << (shape.bits - 1);
    const int q =
        number(numbers.data() + n * blocks * shape.block_size * shape.bits / 8, k, shape.bits);
    return (q - zero) * static_cast<double>(scales[static_cast<std::size_t>(n * blocks + block)]);
  }
  std::vector<float> packed() const {
    std::vector<float> out(packed_block_bytes(shape) / sizeof(float) + 1);
    pack_blocks(shape,
                {numbers.data(), scales.data(), DType::F32, shape.zeros ? zeros.data() : nullptr},
                out.data(), serial());
    return out;
  }
};

std::vector<float> run(const Problem& p, const std::vector<float>& packed, std::int64_t rows,
                       const std::vector<float>& x, const Epilogue& e, Parallel& parallel) {
  std::vector<float> y(static_cast<std::size_t>(rows * p.shape.N), kNan);
  BlockProductArgs args;
  args.shape = p.shape;
  args.packed = packed.data();
  args.rows = rows;
  args.epilogue = e;
  std::vector<float> workspace(block_product_workspace_bytes(args, parallel.threads()) /
                               sizeof(float));
  args.x = x.data();
  args.y = y.data();
  block_product(args, workspace.data(), parallel);
  return y;
}

void expect_product(const Problem& p, std::int64_t rows, const std::vector<float>& x,
                    const Epilogue& e, const std::vector<float>& y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t n = 0; n < p.shape.N; ++n) {
      double sum = 0, size = 1;
      for (std::int64_t k = 0; k < p.shape.K; ++k) {
        const double term =
            static_cast<double>(x[static_cast<std::size_t>(r * p.shape.K + k)]) * p.weight(k, n);
        sum += term;
        size += std::abs(term);
      }
      const double residual =
          e.residual ? static_cast<double>(e.residual[r * e.residual_stride + n]) : 0;
      if (e.bias) sum += static_cast<double>(e.bias[n]);
      if (e.residual_before_act) sum += residual;
      double want = static_cast<double>(
          apply_act(e.act, static_cast<float>(sum), e.a, e.b, e.slope ? e.slope[n] : 0));
      if (!e.residual_before_act) want += residual;
      const auto got = static_cast<double>(y[static_cast<std::size_t>(r * p.shape.N + n)]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << "row " << r << " column " << n << " is " << got;
      } else if (std::isinf(want)) {
        ASSERT_EQ(got, want) << "row " << r << " column " << n;
      } else {
        ASSERT_NEAR(got, want, 2e-6 * size) << "row " << r << " column " << n;
      }
    }
  }
}

class BlockProduct : public IsaTest {};

void run_case(std::mt19937& random, const Problem& p, std::int64_t rows, Parallel& parallel) {
  SCOPED_TRACE(::testing::Message() << rows << "x" << p.shape.N << "x" << p.shape.K << " block "
                                    << p.shape.block_size << " bits " << p.shape.bits << " zeros "
                                    << p.shape.zeros << " threads " << parallel.threads());
  const std::vector<float> x = random_floats(random, rows * p.shape.K);
  expect_product(p, rows, x, {}, run(p, p.packed(), rows, x, {}, parallel));
}

TEST_P(BlockProduct, RandomShapes) {
  std::mt19937 random(7);
  const auto pool = make_thread_pool(3);
  for (int i = 0; i < 150; ++i) {
    const Problem p(random, pick(random, 1, 140), pick(random, 1, 400), 16 << pick(random, 0, 4),
                    2 << pick(random, 0, 2), random() % 2 == 0);
    const std::int64_t rows = pick(random, 1, i % 5 == 0 ? 40 : 9);
    run_case(random, p, rows, i % 2 == 0 ? serial() : *pool);
    if (HasFatalFailure()) return;
  }
}

// Several parts of K and of the columns, for each thread; rows of strips.
TEST_P(BlockProduct, ManyRows) {
  std::mt19937 random(8);
  const auto pool = make_thread_pool(2);
  for (const int bits : {2, 4, 8}) {
    const Problem p(random, 700, 1024, 32, bits, bits != 4);
    run_case(random, p, 26, *pool);
    run_case(random, Problem(random, 90, 1021, 64, bits, bits == 4), 30, *pool);
    if (HasFatalFailure()) return;
  }
}

TEST_P(BlockProduct, Epilogues) {
  std::mt19937 random(9);
  const auto pool = make_thread_pool(2);
  const Problem p(random, 83, 70, 32, 4, true);
  const std::vector<float> packed = p.packed();
  for (const Act act :
       {Act::None, Act::Relu, Act::Clip, Act::PRelu, Act::HardSwish, Act::Sigmoid, Act::Gelu}) {
    for (const std::int64_t rows : {1, 5, 11, 33}) {
      SCOPED_TRACE(::testing::Message() << "act " << static_cast<int>(act) << " rows " << rows);
      const std::vector<float> x = random_floats(random, rows * 70),
                               bias = random_floats(random, 83), slope = random_floats(random, 83),
                               residual = random_floats(random, rows * 90);
      Epilogue e;
      e.bias = rows == 11 ? nullptr : bias.data();
      e.residual = rows == 5 ? nullptr : residual.data();
      e.residual_stride = 90;
      e.residual_before_act = rows == 33;
      e.act = act;
      e.a = act == Act::Clip ? -0.25f : act == Act::Gelu ? 0 : 0.5f;
      e.b = 0.5f;
      e.slope = slope.data();
      expect_product(p, rows, x, e, run(p, packed, rows, x, e, *pool));
      if (HasFatalFailure()) return;
    }
  }
}

// A weight of zero times infinity is NaN, whichever zero point makes it zero.
TEST_P(BlockProduct, NanAndInfinity) {
  std::mt19937 random(10);
  for (const bool zeros : {false, true}) {
    for (const std::int64_t rows : {1, 3, 20}) {
      const Problem p(random, 100, 50, 16, 4, zeros);
      std::vector<float> x = random_floats(random, rows * 50);
      x[49] = kInf;
      if (rows > 1) x[50 + 7] = kNan;
      if (rows > 2) x[100] = -kInf;
      expect_product(p, rows, x, {}, run(p, p.packed(), rows, x, {}, serial()));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(BlockProduct, HalfScalesAndSizes) {
  std::mt19937 random(11);
  Problem p(random, 40, 96, 32, 4, true);
  std::vector<std::uint16_t> f16, bf16;
  for (float& s : p.scales) {
    s = std::round(s * 128) / 128;
    f16.push_back(f32_to_f16(s));
    bf16.push_back(f32_to_bf16(s));
  }
  const std::vector<float> want = p.packed();
  std::vector<float> got(want.size());
  pack_blocks(p.shape, {p.numbers.data(), f16.data(), DType::F16, p.zeros.data()}, got.data(),
              serial());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), packed_block_bytes(p.shape)), 0);
  pack_blocks(p.shape, {p.numbers.data(), bf16.data(), DType::BF16, p.zeros.data()}, got.data(),
              serial());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), packed_block_bytes(p.shape)), 0);
  // Half a byte a number, and for each block a scale and the byte of its zero point.
  const auto lanes = static_cast<std::size_t>(block_kernels().lanes);
  const std::size_t columns = (40 + lanes - 1) / lanes * lanes;
  EXPECT_EQ(packed_block_bytes(p.shape), columns * (96 / 2 + 3 * 5));
  EXPECT_EQ(block_kernels().lanes, dot_kernels().lanes);
}

INSTANTIATE_TEST_SUITE_P(Isas, BlockProduct, isas(), isa_name);

}  // namespace
}  // namespace treadle::kernels
