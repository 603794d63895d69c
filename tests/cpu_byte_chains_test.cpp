// QuantizeLinear of functions of dequantised bytes runs as one step, with the bytes that the
// operators one by one give.
#include "cpu/lower.hpp"
#include "cpu_translate_util.hpp"
#include "ops/binary.hpp"
#include "ops/quantize.hpp"
#include "ops/unary.hpp"
#include "plan/session.hpp"

namespace treadle::cpu::test {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

struct Chain {
  Graph g;
  std::mt19937& random;
  std::vector<Value> inputs;

  explicit Chain(std::mt19937& r) : random(r) {}

  std::string name() { return "n" + std::to_string(g.node_count()); }
  ValueId add(OperatorPtr op, std::vector<ValueId> in) {
    return g.add1(name(), std::move(op), std::move(in));
  }
  ValueId constant(const Tensor& t) { return g.add_constant(name(), t); }
  // Bytes from outside, dequantised.
  ValueId bytes(const Shape& shape) {
    const DType type = pick(random, 0, 1) ? DType::U8 : DType::I8;
    inputs.emplace_back(random_bytes(random, type, shape));
    const ValueId q = g.add_source(name(), Fact::tensor(type, to_sym(shape)));
    return dequantised(q, 0.37f);
  }
  ValueId dequantised(ValueId q, float scale) {
    return add(
        std::make_shared<ops::DequantizeLinear>(),
        {q, constant(Tensor::scalar(scale)), constant(random_bytes(random, g.fact(q).dtype, {}))});
  }
  ValueId quantised(ValueId y, float scale) {
    auto op = std::make_shared<ops::QuantizeLinear>();
    op->to = pick(random, 0, 1) ? DType::U8 : DType::I8;
    return add(op,
               {y, constant(Tensor::scalar(scale)), constant(random_bytes(random, op->to, {}))});
  }
  ValueId unary(UnaryFn fn, ValueId x, double a = 0) {
    auto op = std::make_shared<ops::Unary>(fn);
    op->a = a;
    return add(op, {x});
  }

  // Lowered and evaluated, the outputs are the same bytes; so many steps run.
  void expect_same(std::vector<ValueId> outputs, std::size_t steps) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs.size(); ++i) names.push_back("y" + std::to_string(i));
    g.set_outputs(std::move(outputs), names);
    LowerOptions plain;
    plain.reference = true;
    Session want(lower(g, plain));
    const auto program = lower(std::move(g), {});
    EXPECT_EQ(program->steps.size(), steps);
    for (const int threads : {1, 2}) {
      const auto pool = make_thread_pool(threads);
      Session got(program, pool.get());
      ASSERT_FALSE(got.run(inputs));
      ASSERT_FALSE(want.run(inputs));
      for (std::size_t i = 0; i < names.size(); ++i)
        expect_close(got.output(i).tensor(), want.output(i).tensor(), 0, names[i]);
    }
  }
};

constexpr std::int64_t kLong = 70001;

TEST(ByteChains, Requantise) {
  std::mt19937 random(1);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{300}, kLong}) {
    Chain c(random);
    c.expect_same({c.quantised(c.bytes({n}), 0.21f)}, 1);
  }
}

TEST(ByteChains, FunctionsOfOneInput) {
  std::mt19937 random(2);
  for (const UnaryFn fn : {UnaryFn::Relu, UnaryFn::HardSwish, UnaryFn::Sigmoid, UnaryFn::Log}) {
    Chain c(random);
    ValueId y = c.unary(UnaryFn::LeakyRelu, c.unary(fn, c.bytes({7, 431})), 0.1);
    c.expect_same({c.quantised(y, 0.013f)}, 1);
  }
}

TEST(ByteChains, FunctionsOfTwoInputs) {
  std::mt19937 random(3);
  for (const BinaryFn fn : {BinaryFn::Add, BinaryFn::Mul, BinaryFn::Sub, BinaryFn::Max}) {
    for (const bool relu : {false, true}) {
      Chain c(random);
      const Shape shape{1, kLong};
      ValueId y = c.add(make_op<ops::Binary>(fn), {c.bytes(shape), c.bytes(shape)});
      if (relu) y = c.unary(UnaryFn::Relu, y);
      c.expect_same({c.quantised(y, 0.6f)}, 1);
    }
  }
}

TEST(ByteChains, WithItself) {
  std::mt19937 random(4);
  Chain c(random);
  const ValueId x = c.bytes({50});
  c.expect_same({c.quantised(c.add(make_op<ops::Binary>(BinaryFn::Mul), {x, x}), 9.1f)}, 1);
}

// What else reads a value in the middle gets it.
TEST(ByteChains, OtherReaders) {
  std::mt19937 random(5);
  Chain c(random);
  const ValueId x = c.bytes({50}), y = c.bytes({50});
  const ValueId sum = c.add(make_op<ops::Binary>(BinaryFn::Add), {x, y});
  const ValueId q = c.quantised(sum, 0.5f), r = c.quantised(x, 0.4f);
  c.expect_same({q, sum, r}, 5);
}

TEST(ByteChains, ShapesThatBroadcastStayApart) {
  std::mt19937 random(6);
  Chain c(random);
  const ValueId sum =
      c.add(make_op<ops::Binary>(BinaryFn::Add), {c.bytes({5, 8}), c.bytes({1, 8})});
  c.expect_same({c.quantised(sum, 0.5f)}, 4);
}

}  // namespace
}  // namespace treadle::cpu::test
