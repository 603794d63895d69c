// Elementwise operators that one kernel computes: the same bits as one by one, but for which NaN.
#include <algorithm>
#include <bit>
#include <limits>

#include "cpu/lower.hpp"
#include "cpu_translate_util.hpp"
#include "kernels_util.hpp"
#include "ops/binary.hpp"
#include "ops/unary.hpp"
#include "plan/session.hpp"

namespace treadle::cpu::test {
namespace {

using ops::BinaryFn;
using ops::UnaryFn;

// "Binary +relu": what each step computes.
std::vector<std::string> steps_of(const Program& program) {
  std::vector<std::string> steps;
  for (const Step& s : program.steps) steps.push_back(s.op_name + s.fused);
  return steps;
}

std::vector<Tensor> run(Session& session, const std::vector<Tensor>& inputs) {
  const std::vector<Value> values(inputs.begin(), inputs.end());
  const auto error = session.run(values);
  EXPECT_FALSE(error) << error->message();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; !error && i < session.program().outputs.size(); ++i)
    outputs.push_back(session.output(i).tensor().clone());
  return outputs;
}

// Nothing is fused with a value that is an output.
Graph with_every_value_an_output(Graph g) {
  std::vector<ValueId> outputs = g.outputs();
  std::vector<std::string> names = g.output_names();
  for (const NodeId id : g.order()) {
    const Node& n = g.node(id);
    if (!n.op->as<ops::Unary>() && !n.op->as<ops::Binary>()) continue;
    outputs.push_back({id, 0});
    names.push_back("all " + n.name);
  }
  g.set_outputs(outputs, names);
  return g;
}

// The same bits, or both NaN. Which NaN comes of two is left open by IEEE 754 (6.2.3, 6.3). On x86
// it is the first operand's, and the compiler may swap the operands of + and *: it does so in one
// loop and not in the next, so that sign and payload depend on which loop reaches an element.
bool same_numbers(const Tensor& got, const Tensor& want) {
  if (!(got.shape() == want.shape())) return false;
  return std::ranges::equal(got.span<float>(), want.span<float>(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  });
}

struct Both {
  explicit Both(const Graph& g)
      : fused(lower(g, {})), one_by_one(lower(with_every_value_an_output(g), {})) {}

  void expect_same(const std::vector<Tensor>& inputs, const std::string& what) {
    const std::vector<Tensor> got = run(fused, inputs), want = run(one_by_one, inputs);
    ASSERT_LE(got.size(), want.size()) << what;
    ASSERT_FALSE(got.empty()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_numbers(got[i], want[i])) << what << ", output " << i;
  }

  Session fused, one_by_one;
};

// Numbers of which some are not.
Tensor strange_f32(std::mt19937& random, const Shape& shape) {
  constexpr float kStrange[] = {std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(), -0.0f, 0.0f};
  Tensor t = random_f32(random, shape);
  for (float& v : t.mutable_span<float>()) {
    if (pick(random, 0, 15) == 0) v = kStrange[pick(random, 0, 4)];
  }
  return t;
}

// Elementwise operators on [N, 3, 1, W] and what broadcasts to it, most on recent values.
class RandomChains {
 public:
  RandomChains(std::uint32_t seed, std::int64_t width) : random_(seed), width_(width) {
    const Dim n = g_.named_symbol("N"), w(width);
    const SymShape shapes[] = {{n, Dim(3), Dim(1), w},
                               {Dim(1), Dim(1), Dim(1), w},
                               {n, Dim(3), Dim(1), Dim(1)},
                               {Dim(1), Dim(3), Dim(1), Dim(1)},
                               {n, Dim(1), Dim(1), w}};
    for (const SymShape& s : shapes) add(g_.add_source(name(), Fact::tensor(DType::F32, s)));
    add(g_.add_constant(name(), Tensor::of<float>(Shape{1, 1, 1, 1}, {2.0f})));
    const std::int64_t count = pick(random_, 3, 40);
    for (std::int64_t i = 0; i < count; ++i) add(node());
    std::vector<ValueId> outputs = {values_.back()};
    for (std::int64_t i = pick(random_, 0, 2); i > 0; --i) outputs.push_back(recent());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs.size(); ++i) names.push_back("out" + std::to_string(i));
    g_.set_outputs(outputs, names);
  }

  const Graph& graph() const { return g_; }

  std::vector<Tensor> inputs(std::int64_t n) {
    return {strange_f32(random_, {n, 3, 1, width_}), strange_f32(random_, {1, 1, 1, width_}),
            strange_f32(random_, {n, 3, 1, 1}), strange_f32(random_, {1, 3, 1, 1}),
            strange_f32(random_, {n, 1, 1, width_})};
  }

 private:
  std::string name() { return "v" + std::to_string(values_.size()); }
  void add(ValueId v) { values_.push_back(v); }
  ValueId any() {
    const auto last = static_cast<std::int64_t>(values_.size()) - 1;
    return values_[static_cast<std::size_t>(pick(random_, 0, last))];
  }
  ValueId recent() { return pick(random_, 0, 3) == 0 ? any() : values_.back(); }

  ValueId node() {
    constexpr UnaryFn kUnary[] = {UnaryFn::Abs,     UnaryFn::Neg,  UnaryFn::Relu,
                                  UnaryFn::Sigmoid, UnaryFn::Tanh, UnaryFn::Gelu,
                                  UnaryFn::Clip,    UnaryFn::Silu, UnaryFn::Softplus};
    constexpr BinaryFn kBinary[] = {BinaryFn::Add, BinaryFn::Sub, BinaryFn::Mul, BinaryFn::Div,
                                    BinaryFn::Min, BinaryFn::Max, BinaryFn::Pow, BinaryFn::PRelu};
    if (pick(random_, 0, 2) == 0)
      return g_.add1(name(), make_op<ops::Unary>(kUnary[pick(random_, 0, 8)], 0.5, 1.5),
                     {recent()});
    const auto op = make_op<ops::Binary>(kBinary[pick(random_, 0, 7)]);
    const bool swapped = pick(random_, 0, 1) == 1;
    const ValueId a = recent(), b = any();
    return g_.add1(name(), op, swapped ? std::vector{b, a} : std::vector{a, b});
  }

  std::mt19937 random_;
  std::int64_t width_;
  Graph g_;
  std::vector<ValueId> values_;
};

class CpuChainsOfIsa : public kernels::IsaTest {};

TEST_P(CpuChainsOfIsa, RandomChainsGiveTheNumbersOfOneByOne) {
  constexpr std::int64_t kWidths[] = {1, 5, 300, 2500};
  int chains = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    RandomChains chain(seed, kWidths[seed % 4]);
    Both both(chain.graph());
    for (const Step& s : both.fused.program().steps) chains += s.fused.empty() ? 0 : 1;
    for (const Step& s : both.one_by_one.program().steps) ASSERT_EQ(s.fused, "") << seed;
    for (const std::int64_t n : {2, 1, 0, 2, 9})
      both.expect_same(chain.inputs(n), "seed " + std::to_string(seed));
  }
  EXPECT_GT(chains, 400);
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuChainsOfIsa, kernels::isas(), kernels::isa_name);

struct Builder {
  Graph g;
  ValueId source(const std::string& name, const Shape& shape, DType dtype = DType::F32) {
    return g.add_source(name, Fact::tensor(dtype, to_sym(shape)));
  }
  ValueId unary(const std::string& name, UnaryFn fn, ValueId x) {
    return g.add1(name, make_op<ops::Unary>(fn), {x});
  }
  ValueId binary(const std::string& name, BinaryFn fn, ValueId x, ValueId y) {
    return g.add1(name, make_op<ops::Binary>(fn), {x, y});
  }
};

// 1 − (x · scale + shift)², in plain loops; the constant 2 makes the power a square.
TEST(CpuChains, ScaleShiftPowerAndSwappedDifferenceAreOneStep) {
  Builder b;
  const ValueId x = b.source("x", {2, 7, 5}), scale = b.source("scale", {1, 1, 5}),
                shift = b.source("shift", {1, 7, 1});
  const ValueId two = b.g.add_constant("two", Tensor::of<float>(Shape{1, 1, 1}, {2.0f}));
  const ValueId one = b.g.add_constant("one", Tensor::of<float>(Shape{1, 1, 1}, {1.0f}));
  const ValueId mul = b.binary("mul", BinaryFn::Mul, x, scale);
  const ValueId add = b.binary("add", BinaryFn::Add, mul, shift);
  const ValueId pow = b.binary("pow", BinaryFn::Pow, add, two);
  b.g.set_outputs({b.binary("sub", BinaryFn::Sub, one, pow)}, {"y"});
  Session session(lower(std::move(b.g), {}));
  EXPECT_EQ(steps_of(session.program()), (std::vector<std::string>{"Binary +add +pow +sub"}));
  std::mt19937 random(5);
  const std::vector<Tensor> in = {random_f32(random, {2, 7, 5}), random_f32(random, {1, 1, 5}),
                                  random_f32(random, {1, 7, 1})};
  const std::vector<Tensor> got = run(session, in);
  ASSERT_EQ(got.size(), 1u);
  for (std::size_t i = 0; i < 70; ++i) {
    const float product = in[0].span<float>()[i] * in[1].span<float>()[i % 5];
    const float sum = product + in[2].span<float>()[i / 5 % 7];
    const float square = sum * sum;
    EXPECT_EQ(got[0].span<float>()[i], 1.0f - square) << i;
  }
}

// What another step or the caller reads is made.
TEST(CpuChains, OutputsAndValuesReadTwiceEndAChain) {
  Builder b;
  const ValueId x = b.source("x", {4, 6});
  const ValueId a = b.unary("a", UnaryFn::Exp, b.unary("abs", UnaryFn::Abs, x));
  const ValueId c = b.unary("c", UnaryFn::Tanh, b.unary("neg", UnaryFn::Neg, a));
  const ValueId d = b.unary("d", UnaryFn::Relu, b.binary("cc", BinaryFn::Mul, c, c));
  b.g.set_outputs({d, a}, {"d", "a"});
  Both both(b.g);
  EXPECT_EQ(steps_of(both.fused.program()),
            (std::vector<std::string>{"Unary +exp", "Unary +tanh", "Binary +relu"}));
  std::mt19937 random(6);
  both.expect_same({strange_f32(random, {4, 6})}, "outputs inside");
}

TEST(CpuChains, OtherDTypesAndReferenceRunOneByOne) {
  Builder b;
  const ValueId x = b.source("x", {4}, DType::F64);
  b.g.set_outputs({b.unary("abs", UnaryFn::Abs, b.unary("exp", UnaryFn::Exp, x))}, {"y"});
  EXPECT_EQ(lower(b.g, {})->steps.size(), 2u);
  Builder f;
  const ValueId z = f.source("z", {4});
  f.g.set_outputs({f.unary("abs", UnaryFn::Abs, f.unary("exp", UnaryFn::Exp, z))}, {"y"});
  EXPECT_EQ(lower(f.g, {})->steps.size(), 1u);
  LowerOptions reference;
  reference.reference = true;
  EXPECT_EQ(lower(f.g, reference)->steps.size(), 2u);
}

// Beyond what one program holds.
TEST(CpuChains, LongChainsAreCutAtTheLimits) {
  Builder b;
  ValueId v = b.source("x", {33});
  for (int i = 0; i < 50; ++i)
    v = b.unary("u" + std::to_string(i), i % 2 == 0 ? UnaryFn::Sin : UnaryFn::Abs, v);
  b.g.set_outputs({v}, {"y"});
  Both both(b.g);
  EXPECT_EQ(both.fused.program().steps.size(), 3u);  // 24, 24 and 2
  std::mt19937 random(7);
  both.expect_same({strange_f32(random, {33})}, "50 links");

  Builder m;
  ValueId w = m.source("x", {33});
  std::vector<Tensor> inputs = {strange_f32(random, {33})};
  for (int i = 0; i < 10; ++i) {
    w = m.binary("add" + std::to_string(i), BinaryFn::Add, w,
                 m.source("y" + std::to_string(i), {33}));
    inputs.push_back(strange_f32(random, {33}));
  }
  m.g.set_outputs({w}, {"y"});
  Both many(m.g);
  EXPECT_EQ(many.fused.program().steps.size(), 2u);  // 8 inputs, then 4
  many.expect_same(inputs, "11 operands");
}

}  // namespace
}  // namespace treadle::cpu::test
