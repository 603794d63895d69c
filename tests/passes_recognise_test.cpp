// Functions and normalisations written out become one operator.
#include "ops/norm.hpp"
#include "ops/softmax.hpp"
#include "passes_util.hpp"

namespace treadle::passes_test {
namespace {

using ops::BinaryFn;
using ops::ReduceFn;
using ops::UnaryFn;

// Writes expressions down over one input x.
class Writer {
 public:
  explicit Writer(const SymShape& shape = {2, 3, 8}) { x = source(g, "x", shape); }
  ValueId c(double v) { return ops::scalar_like(g, name(), v, x); }
  ValueId un(UnaryFn fn, ValueId v, double a = 0, double b = 0) {
    return ops::unary(g, name(), fn, v, a, b);
  }
  ValueId bi(BinaryFn fn, ValueId a, ValueId b) { return ops::binary(g, name(), fn, a, b); }
  ValueId add(ValueId a, ValueId b) { return bi(BinaryFn::Add, a, b); }
  ValueId mul(ValueId a, ValueId b) { return bi(BinaryFn::Mul, a, b); }
  ValueId div(ValueId a, ValueId b) { return bi(BinaryFn::Div, a, b); }
  ValueId sub(ValueId a, ValueId b) { return bi(BinaryFn::Sub, a, b); }
  ValueId pow(ValueId a, double e) { return bi(BinaryFn::Pow, a, c(e)); }
  ValueId red(ReduceFn fn, ValueId v, std::vector<std::int64_t> axes) {
    return ops::reduce(g, name(), fn, v, std::move(axes), true);
  }
  // The one operator that computes the output; null when there are several.
  const Operator* only(ValueId out) {
    g.set_outputs({out}, {"out"});
    check_simplify(g, {}, 1e-4);
    const Node& n = g.node(g.outputs()[0].node);
    return n.inputs.size() == 1 && n.inputs[0] == x ? n.op.get() : nullptr;
  }
  std::string only_unary(ValueId out) {
    const Operator* op = only(out);
    const auto* u = op != nullptr ? op->as<ops::Unary>() : nullptr;
    return u != nullptr ? std::string(name_of(u->fn)) : "several";
  }

  Graph g;
  ValueId x;

 private:
  std::string name() { return "n" + std::to_string(next_++); }
  int next_ = 0;
};

std::string text(UnaryFn fn) {
  return std::string(name_of(fn));
}

TEST(RecogniseUnary, SimpleForms) {
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.mul(w.x, w.x)), text(UnaryFn::Square));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.pow(w.un(UnaryFn::Abs, w.x), 2)), "several");
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.bi(BinaryFn::Max, w.c(0), w.x)), text(UnaryFn::Relu));
  }
  {
    Writer w;
    const ValueId low = w.bi(BinaryFn::Max, w.x, w.c(-1));
    EXPECT_EQ(w.only_unary(w.bi(BinaryFn::Min, low, w.c(1))), text(UnaryFn::Clip));
  }
  {
    Writer w;
    const ValueId one = w.add(w.un(UnaryFn::Exp, w.un(UnaryFn::Neg, w.x)), w.c(1));
    EXPECT_EQ(w.only_unary(w.div(w.c(1), one)), text(UnaryFn::Sigmoid));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.un(UnaryFn::Log, w.add(w.c(1), w.un(UnaryFn::Exp, w.x)))),
              text(UnaryFn::Softplus));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.bi(BinaryFn::Max, w.x, w.mul(w.x, w.c(0.1)))),
              text(UnaryFn::LeakyRelu));
  }
  {
    Writer w;  // a slope above 1 is no LeakyRelu
    EXPECT_EQ(w.only_unary(w.bi(BinaryFn::Max, w.x, w.mul(w.x, w.c(1.5)))), "several");
  }
}

TEST(RecogniseUnary, IntegersStay) {
  Graph g;
  const ValueId x = source(g, "x", {2}, DType::I64);
  g.set_outputs({ops::binary(g, "y", BinaryFn::Mul, x, x)}, {"out"});
  EXPECT_EQ(simplify(g).patches, 0);
}

TEST(RecogniseGated, SiluHardSwishMish) {
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.mul(w.un(UnaryFn::Sigmoid, w.x), w.x)), text(UnaryFn::Silu));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.mul(w.x, w.un(UnaryFn::Sigmoid, w.mul(w.x, w.c(1.702))))),
              text(UnaryFn::Silu));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.mul(w.x, w.un(UnaryFn::HardSigmoid, w.x, 1.0 / 6, 0.5))),
              text(UnaryFn::HardSwish));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.mul(w.x, w.un(UnaryFn::HardSigmoid, w.x, 0.2, 0.5))), "several");
  }
  for (const bool late : {false, true}) {
    Writer w;
    const ValueId gate = w.un(UnaryFn::Clip, w.add(w.x, w.c(3)), 0, 6);
    EXPECT_EQ(
        w.only_unary(late ? w.div(w.mul(w.x, gate), w.c(6)) : w.mul(w.x, w.div(gate, w.c(6)))),
        text(UnaryFn::HardSwish));
  }
  {
    Writer w;
    const ValueId gate = w.un(UnaryFn::Clip, w.add(w.x, w.c(2)), 0, 6);
    EXPECT_EQ(w.only_unary(w.div(w.mul(w.x, gate), w.c(6))), "several");
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.mul(w.x, w.un(UnaryFn::Tanh, w.un(UnaryFn::Softplus, w.x)))),
              text(UnaryFn::Mish));
  }
}

TEST(RecogniseHardSigmoid, BothForms) {
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.un(UnaryFn::Clip, w.div(w.add(w.x, w.c(3)), w.c(6)), 0, 1)),
              text(UnaryFn::HardSigmoid));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.div(w.un(UnaryFn::Clip, w.add(w.x, w.c(3)), 0, 6), w.c(6))),
              text(UnaryFn::HardSigmoid));
  }
  {
    Writer w;
    EXPECT_EQ(w.only_unary(w.div(w.un(UnaryFn::Clip, w.add(w.x, w.c(3)), 0, 6), w.c(5))),
              "several");
  }
}

TEST(RecogniseGelu, EveryOrder) {
  const double root2 = 1.4142135623730951, k = 0.7978845608028654;
  {
    Writer w;
    const ValueId e = w.add(w.un(UnaryFn::Erf, w.div(w.x, w.c(root2))), w.c(1));
    EXPECT_EQ(w.only_unary(w.mul(w.mul(w.x, e), w.c(0.5))), text(UnaryFn::Gelu));
  }
  {
    Writer w;
    const ValueId e = w.add(w.c(1), w.un(UnaryFn::Erf, w.mul(w.x, w.c(1 / root2))));
    EXPECT_EQ(w.only_unary(w.mul(w.mul(w.c(0.5), w.x), e)), text(UnaryFn::Gelu));
  }
  {
    Writer w;
    const ValueId e = w.add(w.un(UnaryFn::Erf, w.div(w.x, w.c(root2))), w.c(1));
    EXPECT_EQ(w.only_unary(w.mul(w.x, w.mul(e, w.c(0.5)))), text(UnaryFn::Gelu));
  }
  {
    Writer w;  // a wrong constant
    const ValueId e = w.add(w.un(UnaryFn::Erf, w.div(w.x, w.c(1.5))), w.c(1));
    EXPECT_EQ(w.only_unary(w.mul(w.mul(w.x, e), w.c(0.5))), "several");
  }
  {
    Writer w;
    const ValueId cube = w.mul(w.pow(w.x, 3), w.c(0.044715));
    const ValueId t = w.un(UnaryFn::Tanh, w.mul(w.c(k), w.add(w.x, cube)));
    EXPECT_EQ(w.only_unary(w.mul(w.mul(w.c(0.5), w.x), w.add(w.c(1), t))), text(UnaryFn::GeluTanh));
  }
  {
    Writer w;
    const ValueId inner = w.add(w.mul(w.mul(w.x, w.x), w.c(0.044715)), w.c(1));
    const ValueId t = w.un(UnaryFn::Tanh, w.mul(inner, w.mul(w.x, w.c(k))));
    EXPECT_EQ(w.only_unary(w.mul(w.mul(w.x, w.c(0.5)), w.add(t, w.c(1)))), text(UnaryFn::GeluTanh));
  }
}

TEST(RecogniseNorm, LayerNorm) {
  for (const int form : {0, 1, 2}) {
    Writer w;
    const std::vector<std::int64_t> axes = {1, 2};
    const ValueId d = w.sub(w.x, w.red(ReduceFn::Mean, w.x, axes));
    const ValueId d2 = form == 1 ? w.sub(w.x, w.red(ReduceFn::Mean, w.x, axes)) : d;
    const ValueId power = form == 2 ? w.mul(d, d) : w.pow(d2, 2);
    const ValueId u = w.add(w.red(ReduceFn::Mean, power, axes), w.c(1e-5));
    const ValueId out = form == 2 ? w.mul(d, w.div(w.c(1), w.un(UnaryFn::Sqrt, u)))
                                  : w.div(d, w.un(UnaryFn::Sqrt, u));
    const Operator* op = w.only(out);
    ASSERT_NE(op, nullptr) << print(w.g);
    const auto* norm = op->as<ops::Norm>();
    ASSERT_NE(norm, nullptr);
    EXPECT_TRUE(norm->center);
    EXPECT_EQ(norm->axes, axes);
    EXPECT_NEAR(norm->epsilon, 1e-5, 1e-11);
  }
}

TEST(RecogniseNorm, RmsNormAndNotAcrossOtherAxes) {
  Writer w;
  const ValueId u = w.add(w.red(ReduceFn::Mean, w.pow(w.x, 2), {2}), w.c(1e-6));
  const Operator* op = w.only(w.mul(w.x, w.pow(u, -0.5)));
  ASSERT_NE(op, nullptr) << print(w.g);
  ASSERT_NE(op->as<ops::Norm>(), nullptr);
  EXPECT_FALSE(op->as<ops::Norm>()->center);

  Writer v;  // centred over another axis: not a LayerNorm
  const ValueId d = v.sub(v.x, v.red(ReduceFn::Mean, v.x, {1}));
  const ValueId s = v.add(v.red(ReduceFn::Mean, v.pow(d, 2), {2}), v.c(1e-5));
  EXPECT_EQ(v.only(v.div(d, v.un(UnaryFn::Sqrt, s))), nullptr);
  EXPECT_EQ(count(v.g, "Norm"), 1);
  EXPECT_EQ(count(v.g, "Reduce"), 1);
}

TEST(RecogniseSoftmax, WithAndWithoutTheMaximum) {
  for (const bool max : {true, false}) {
    Writer w;
    const ValueId z = max ? w.sub(w.x, w.red(ReduceFn::Max, w.x, {2})) : w.x;
    const ValueId e = w.un(UnaryFn::Exp, z);
    const Operator* op = w.only(w.un(UnaryFn::Log, w.div(e, w.red(ReduceFn::Sum, e, {2}))));
    ASSERT_NE(op, nullptr);
    ASSERT_NE(op->as<ops::Softmax>(), nullptr);
    EXPECT_TRUE(op->as<ops::Softmax>()->log);
  }
  Writer w;  // the sum of something else
  const ValueId e = w.un(UnaryFn::Exp, w.x);
  EXPECT_EQ(w.only(w.div(e, w.red(ReduceFn::Sum, w.x, {2}))), nullptr);
}

}  // namespace
}  // namespace treadle::passes_test
