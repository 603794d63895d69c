// BlockMatMul through its kernel, against its reference evaluation.
#include "ops/block_matmul.hpp"

#include "cpu/lower.hpp"
#include "cpu_translate_util.hpp"
#include "ops/build.hpp"
#include "plan/session.hpp"

namespace treadle::cpu::test {
namespace {

Tensor as(DType type, const Tensor& t) {
  Tensor out(type, t.shape());
  const auto from = t.span<float>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (type == DType::F16) out.mutable_span<Half>()[i] = Half(from[i]);
    if (type == DType::BF16) out.mutable_span<BFloat16>()[i] = BFloat16(from[i]);
    if (type == DType::F32) out.mutable_span<float>()[i] = from[i];
  }
  return out;
}

std::vector<Tensor> inputs_of(std::mt19937& random, const ops::BlockMatMul& op, std::int64_t N,
                              Shape x, DType type) {
  x.push_back(op.K);
  return {as(type, random_f32(random, x)),
          random_bytes(random, DType::U8, {N, op.blocks(), op.block_bytes()}),
          as(type, random_f32(random, {N, op.blocks()}, 0.01F, 0.1F)),
          random_bytes(random, DType::U8, {N, op.zero_point_bytes()})};
}

TEST(BlockMatMulKernel, MatchesTheReference) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const ops::BlockMatMul op(pick(random, 1, 130), 16 << pick(random, 0, 3),
                              2 << pick(random, 0, 2));
    const DType type = i % 3 == 0 ? DType::F16 : i % 3 == 1 ? DType::BF16 : DType::F32;
    Shape x;
    if (i % 4 != 0) x.push_back(pick(random, 0, 9));
    if (i % 4 == 2) x.push_back(3);
    std::vector<Tensor> in = inputs_of(random, op, pick(random, 1, 70), x, type);
    if (i % 2 == 0) in.pop_back();
    const Tensor want = evaluate(op, in)[0];
    const double tolerance = type == DType::F16 ? 1e-3 : type == DType::BF16 ? 8e-3 : 1e-6;
    for (const bool constant : {true, false}) {
      for (const int threads : {1, 2}) {
        const std::vector<Tensor> got = run_kernel(make_op<ops::BlockMatMul>(op), in, threads,
                                                   false, {false, constant, constant, constant});
        ASSERT_EQ(got.size(), 1u);
        expect_close(got[0], want, tolerance, text(in, op));
      }
    }
  }
}

// A lowered product keeps the packed numbers and nothing of the constants.
TEST(BlockMatMulKernel, HoldsHalfAByteAWeight) {
  std::mt19937 random(4);
  constexpr std::int64_t K = 1024, N = 512;
  const ops::BlockMatMul op(K, 32, 4);
  std::vector<Tensor> in = inputs_of(random, op, N, {Shape{1}}, DType::F32);
  Graph g;
  std::vector<ValueId> ids{g.add_source("x", Fact::tensor(DType::F32, {Dim(1), Dim(K)}))};
  for (std::size_t i = 1; i < in.size(); ++i)
    ids.push_back(g.add_constant("c" + std::to_string(i), in[i]));
  g.set_outputs({g.add1("y", make_op<ops::BlockMatMul>(op), ids)}, {"y"});
  const auto program = lower(std::move(g), {});
  std::int64_t packed = 0, constants = 0;
  for (const Step& s : program->steps)
    packed += static_cast<std::int64_t>(s.kernel->packed_bytes());
  for (const ProgramValue& v : program->values) {
    if (v.constant) constants += static_cast<std::int64_t>(v.constant->bytes());
  }
  EXPECT_EQ(packed, K * N / 2 + K / 32 * N * 5);  // numbers, scales, zero points
  EXPECT_EQ(constants, 0);
}

// Bias, residual and activation are one step with the product.
TEST(BlockMatMulKernel, TakesAnEpilogue) {
  std::mt19937 random(5);
  const ops::BlockMatMul op(75, 16, 4);
  for (const std::int64_t rows : {1, 4, 40}) {
    const std::vector<Tensor> in = inputs_of(random, op, 37, {Shape{rows}}, DType::F32);
    Graph g;
    const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {g.named_symbol("n"), Dim(75)}));
    const ValueId r = g.add_source("r", Fact::tensor(DType::F32, {g.named_symbol("n"), Dim(37)}));
    ValueId y = g.add1(
        "y", make_op<ops::BlockMatMul>(op),
        {x, g.add_constant("w", in[1]), g.add_constant("s", in[2]), g.add_constant("z", in[3])});
    y = ops::binary(g, "bias", ops::BinaryFn::Add, y,
                    g.add_constant("b", random_f32(random, {37})));
    y = ops::binary(g, "sum", ops::BinaryFn::Add, y, r);
    g.set_outputs({ops::unary(g, "act", ops::UnaryFn::Relu, y)}, {"y"});
    const std::vector<Value> values{Value(in[0]), Value(random_f32(random, {rows, 37}))};
    const Tensor want = evaluate(g, values).front().tensor();
    const auto program = lower(g, {});
    ASSERT_EQ(program->steps.size(), 1u);
    Session session(program);
    const auto error = session.run(values);
    ASSERT_FALSE(error.has_value()) << error->what();
    expect_close(session.output(0).tensor(), want, 1e-6, "rows " + std::to_string(rows));
  }
}

TEST(BlockMatMulKernel, RefusesRowsOfAnotherLength) {
  std::mt19937 random(6);
  const ops::BlockMatMul op(64, 32, 4);
  const std::vector<Tensor> in = inputs_of(random, op, 8, {Shape{1}}, DType::F32);
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {Dim(1), g.named_symbol("k")}));
  g.set_outputs({g.add1("y", make_op<ops::BlockMatMul>(op),
                        {x, g.add_constant("w", in[1]), g.add_constant("s", in[2])})},
                {"y"});
  Session session(lower(std::move(g), {}));
  const auto error = session.run(std::vector<Value>{Value(random_f32(random, {1, 63}))});
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind(), ErrorKind::Shape);
}

}  // namespace
}  // namespace treadle::cpu::test
