// Graphs lowered to a device: the answers of the CPU, the syncs and copies that were planned.
#include "cpu/lower.hpp"

#include <gtest/gtest.h>

#include "gpu/lower.hpp"
#include "gpu_util.hpp"
#include "ops/binary.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/move.hpp"
#include "ops/pool.hpp"
#include "ops/reduce.hpp"
#include "ops/unary.hpp"
#include "plan/session.hpp"

namespace treadle {
namespace {

std::shared_ptr<Device> device() {
  const char* kind = std::getenv("TREADLE_DEVICE");
  static const auto d = gpu::device_from_name(kind ? kind : "sim");
  return d;
}

// With weights of the input's dtype.
ValueId conv(Graph& g, const std::string& name, ValueId x, std::int64_t from, std::int64_t to,
             std::int64_t kernel, std::int64_t stride) {
  ops::Conv op;
  op.layout = ops::Layout::ChannelsLast;
  op.weight_layout = ops::WeightLayout::HWIO;
  op.strides = {stride, stride};
  op.dilations = {1, 1};
  op.padding.before = op.padding.after = {kernel / 2, kernel / 2};
  const Tensor w = test::random_tensor(g.fact(x).dtype, {kernel, kernel, from, to}, 7, -0.3, 0.3);
  return g.add1(name, make_op<ops::Conv>(op), {x, g.add_constant(name + "/w", w)});
}

ValueId relu(Graph& g, const std::string& name, ValueId x) {
  return g.add1(name, make_op<ops::Unary>(ops::UnaryFn::Relu), {x});
}

ValueId max_pool(Graph& g, const std::string& name, ValueId x) {
  ops::Pool op;
  op.layout = ops::Layout::ChannelsLast;
  op.kernel = {3, 3};
  op.strides = {2, 2};
  op.dilations = {1, 1};
  op.padding.before = op.padding.after = {1, 1};
  return g.add1(name, make_op<ops::Pool>(op), {x});
}

// x → conv+relu → pool → two convolutions → concat; the batch is a symbol.
Graph vision(DType dtype = DType::F32) {
  Graph g;
  const ValueId x =
      g.add_source("x", Fact::tensor(dtype, {g.named_symbol("N"), Dim(17), Dim(19), Dim(3)}));
  const ValueId a = relu(g, "relu1", conv(g, "conv1", x, 3, 8, 3, 2));
  const ValueId p = max_pool(g, "pool", a);
  const ValueId left = conv(g, "conv2", p, 8, 4, 1, 1);
  const ValueId right = relu(g, "relu3", conv(g, "conv3", p, 8, 5, 3, 1));
  const ValueId both = g.add1("concat", make_op<ops::Concat>(3), {left, right});
  g.set_outputs({both}, {"y"});
  return g;
}

std::vector<Value> input(std::int64_t batch, std::uint32_t seed, DType dtype = DType::F32) {
  return {Value(test::random_tensor(dtype, {batch, 17, 19, 3}, seed))};
}

void expect_same_as_cpu(Session& session, Session& cpu, const std::vector<Value>& in,
                        double tolerance = 1e-5) {
  const auto error = session.run(in);
  ASSERT_FALSE(error.has_value()) << error->what();
  ASSERT_FALSE(cpu.run(in).has_value());
  for (std::size_t i = 0; i < session.program().outputs.size(); ++i)
    test::expect_close(session.output(i).tensor(), cpu.output(i).tensor(), tolerance, tolerance,
                       "output");
}

TEST(GpuLower, AWholeModelTakesOneSync) {
  Session session(gpu::lower(vision(), {}, device())), cpu(cpu::lower(vision(), {}));
  for (const Step& s : session.program().steps)
    EXPECT_TRUE(s.queued || s.op_name == "Copy") << s.name << ": " << s.why_on_cpu;
  // Run, record, replay; other sizes, and back.
  for (const std::int64_t batch : {2, 2, 2, 3, 2, 1, 1, 1, 3}) {
    const DeviceCounters before = session.device_counters();
    expect_same_as_cpu(session, cpu, input(batch, static_cast<std::uint32_t>(batch)));
    const DeviceCounters after = session.device_counters();
    EXPECT_EQ(after.copies_to_device - before.copies_to_device, 1);
    EXPECT_EQ(after.copies_to_host - before.copies_to_host, 1);
  }
  const DeviceCounters before = session.device_counters();
  expect_same_as_cpu(session, cpu, input(3, 99));
  EXPECT_EQ(session.device_counters().syncs - before.syncs, 1);
}

std::vector<std::string> kernels_of(const Program& program) {
  std::vector<std::string> names;
  for (const Step& s : program.steps)
    if (!s.op_name.starts_with("Copy")) names.push_back(s.op_name + s.fused);
  return names;
}

TEST(GpuLower, HalfPrecisionStaysOnTheDevice) {
  for (const DType dtype : {DType::F16, DType::BF16}) {
    Session session(gpu::lower(vision(dtype), {}, device())), cpu(cpu::lower(vision(dtype), {}));
    for (const Step& s : session.program().steps)
      EXPECT_TRUE(s.queued || s.op_name == "Copy" || (dtype == DType::BF16 && s.op_name == "Pool"))
          << s.name << ": " << s.why_on_cpu;
    for (const std::int64_t batch : {2, 1, 3})
      expect_same_as_cpu(session, cpu, input(batch, static_cast<std::uint32_t>(batch), dtype),
                         dtype == DType::F16 ? 4e-3 : 3e-2);
  }
}

// What the device would have done in one kernel, the CPU does in several.
TEST(GpuLower, FusedOperatorsThatTheDeviceRefusesAreTakenApart) {
  LowerOptions options;
  options.keep_on_cpu = {"Conv"};
  Session session(gpu::lower(vision(DType::F16), options, device())),
      cpu(cpu::lower(vision(DType::F16), {}));
  EXPECT_EQ(kernels_of(session.program()),
            (std::vector<std::string>{"Conv", "Unary", "Pool", "Conv", "Conv", "Unary", "Concat"}));
  for (const std::int64_t batch : {2, 1, 3})
    expect_same_as_cpu(session, cpu, input(batch, 9, DType::F16), 2e-3);
}

TEST(GpuLower, ActivationsKeptOnTheCpuAreNotFused) {
  LowerOptions options;
  options.keep_on_cpu = {"Unary"};
  Session session(gpu::lower(vision(), options, device())), cpu(cpu::lower(vision(), {}));
  for (const Step& s : session.program().steps) {
    EXPECT_EQ(s.fused, "") << s.name;
    EXPECT_EQ(s.why_on_cpu == "kept on the CPU by option", s.op_name == "Unary") << s.name;
  }
  expect_same_as_cpu(session, cpu, input(2, 5), 1e-5);
}

TEST(GpuLower, WhatMustBeOnTheDeviceIsNamedByItsOwnNode) {
  LowerOptions options;
  options.keep_on_cpu = {"Conv"};
  options.require_device = true;
  try {
    gpu::lower(vision(), options, device());
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    const std::string text = e.what();
    EXPECT_NE(text.find("(Conv"), std::string::npos) << text;
    EXPECT_EQ(text.find("(Unary"), std::string::npos) << text;
  }
}

TEST(GpuLower, NamesThatStandForNothingAreErrors) {
  LowerOptions kept, avoided;
  kept.keep_on_cpu = {"Convolution"};
  avoided.avoid_kernels = {"winograd"};
  for (const auto& [options, name] :
       {std::pair{kept, "'Convolution'"}, std::pair{avoided, "'winograd'"}}) {
    try {
      gpu::lower(vision(), options, device());
      ADD_FAILURE() << "expected an error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Parse);
      EXPECT_NE(e.message().find(name), std::string::npos) << e.message();
    }
  }
  avoided.avoid_kernels = {"depthwise", "gemm_64x64", "direct"};
  EXPECT_NO_THROW(gpu::lower(vision(), avoided, device()));
}

// x → exp → ·y → c − · → + x → tanh, where x, y and c broadcast; the last value is read twice.
Graph elementwise_chain(DType dtype) {
  Graph g;
  const auto binary = [&](const std::string& name, ops::BinaryFn fn, ValueId a, ValueId b) {
    return g.add1(name, make_op<ops::Binary>(fn), {a, b});
  };
  const auto unary = [&](const std::string& name, ops::UnaryFn fn, ValueId a) {
    return g.add1(name, make_op<ops::Unary>(fn), {a});
  };
  const Dim n = g.named_symbol("N");
  const ValueId x = g.add_source("x", Fact::tensor(dtype, {n, Dim(1), Dim(6)}));
  const ValueId y = g.add_source("y", Fact::tensor(dtype, {n, Dim(5), Dim(1)}));
  const ValueId c = g.add_constant("c", test::random_tensor(dtype, {1, 1, 1}, 3));
  const ValueId wide = binary("mul", ops::BinaryFn::Mul, unary("exp", ops::UnaryFn::Exp, x), y);
  const ValueId sum =
      binary("add", ops::BinaryFn::Add, binary("sub", ops::BinaryFn::Sub, c, wide), x);
  const ValueId t = unary("tanh", ops::UnaryFn::Tanh, sum);
  g.set_outputs({binary("twice", ops::BinaryFn::Mul, t, t), unary("neg", ops::UnaryFn::Neg, t)},
                {"twice", "neg"});
  return g;
}

std::vector<Value> chain_input(std::int64_t n, DType dtype) {
  return {Value(test::random_tensor(dtype, {n, 1, 6}, static_cast<std::uint32_t>(n))),
          Value(test::random_tensor(dtype, {n, 5, 1}, static_cast<std::uint32_t>(n + 1)))};
}

TEST(GpuLower, ChainsOfElementwiseOperatorsAreOneLaunch) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    Session session(gpu::lower(elementwise_chain(dtype), {}, device())),
        cpu(cpu::lower(elementwise_chain(dtype), {}));
    // exp has another shape than what follows.
    EXPECT_EQ(kernels_of(session.program()),
              (std::vector<std::string>{"Unary", "Binary +sub +add +tanh", "Binary", "Unary"}));
    const double tolerance = dtype == DType::F32 ? 1e-6 : dtype == DType::F16 ? 4e-3 : 3e-2;
    for (const std::int64_t n : {3, 3, 3, 1, 65, 0, 3})
      expect_same_as_cpu(session, cpu, chain_input(n, dtype), tolerance);
  }
}

TEST(GpuLower, ChainsEndAtOperatorsKeptOnTheCpu) {
  LowerOptions options;
  options.keep_on_cpu = {"Unary"};
  Session session(gpu::lower(elementwise_chain(DType::F32), options, device())),
      cpu(cpu::lower(elementwise_chain(DType::F32), {}));
  EXPECT_EQ(kernels_of(session.program()),
            (std::vector<std::string>{"Unary", "Binary +sub +add", "Unary", "Binary", "Unary"}));
  for (const std::int64_t n : {3, 3, 1, 65})
    expect_same_as_cpu(session, cpu, chain_input(n, DType::F32), 1e-6);
}

// Of a graph of one input [N, 6].
void expect_three_launches(Graph g) {
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(std::move(g), {}));
  EXPECT_EQ(kernels_of(session.program()).size(), 3u);
  for (const std::int64_t n : {3, 3, 1, 65})
    expect_same_as_cpu(
        session, cpu,
        {Value(test::random_tensor(DType::F32, {n, 6}, static_cast<std::uint32_t>(n)))}, 1e-6);
}

// More operands than one launch takes.
TEST(GpuLower, ChainsEndAtTheMostOperands) {
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {g.named_symbol("N"), Dim(6)}));
  ValueId v = x;
  for (int i = 0; i < 9; ++i) {
    const std::string k = std::to_string(i);
    const ValueId c = g.add_constant(
        "c" + k, test::random_tensor(DType::F32, {1, 6}, static_cast<std::uint32_t>(i)));
    v = g.add1("add" + k, make_op<ops::Binary>(ops::BinaryFn::Add), {v, c});
    v = g.add1("tanh" + k, make_op<ops::Unary>(ops::UnaryFn::Tanh), {v});
  }
  g.set_outputs({v}, {"y"});
  expect_three_launches(std::move(g));
}

// As many links as one launch takes: 30 are three of 12, 12 and 6.
TEST(GpuLower, ChainsEndAtTheMostLinks) {
  Graph g;
  ValueId v = g.add_source("x", Fact::tensor(DType::F32, {g.named_symbol("N"), Dim(6)}));
  for (int i = 0; i < 30; ++i)
    v = g.add1("u" + std::to_string(i),
               make_op<ops::Unary>(i % 2 == 0 ? ops::UnaryFn::Sin : ops::UnaryFn::Abs), {v});
  g.set_outputs({v}, {"y"});
  expect_three_launches(std::move(g));
}

// Two links of 5 and 3 axes that do not merge; of their chain, 7 do not.
TEST(GpuLower, ChainsOfTooManyAxesAreTakenApart) {
  Graph g;
  const auto source = [&](const char* name, const Shape& shape) {
    return g.add_source(name, Fact::tensor(DType::F32, to_sym(shape)));
  };
  const Shape x{2, 2, 2, 2, 2, 2, 2}, y{2, 1, 2, 1, 2, 2, 2}, z{2, 2, 2, 2, 2, 1, 2};
  const ValueId sum =
      g.add1("add", make_op<ops::Binary>(ops::BinaryFn::Add), {source("x", x), source("y", y)});
  g.set_outputs({g.add1("mul", make_op<ops::Binary>(ops::BinaryFn::Mul), {sum, source("z", z)})},
                {"out"});
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(g, {}));
  EXPECT_EQ(kernels_of(session.program()), (std::vector<std::string>{"Binary", "Binary"}));
  expect_same_as_cpu(
      session, cpu,
      {Value(test::random_tensor(DType::F32, x, 1)), Value(test::random_tensor(DType::F32, y, 2)),
       Value(test::random_tensor(DType::F32, z, 3))},
      1e-6);
}

// Two branches meet; one value is an output as well; the CPU makes an operand after the chain
// began.
TEST(GpuLower, ChainsAroundWhatOthersRead) {
  Graph g;
  const auto unary = [&](const std::string& name, ops::UnaryFn fn, ValueId a) {
    return g.add1(name, make_op<ops::Unary>(fn), {a});
  };
  const auto binary = [&](const std::string& name, ops::BinaryFn fn, ValueId a, ValueId b) {
    return g.add1(name, make_op<ops::Binary>(fn), {a, b});
  };
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {g.named_symbol("N"), Dim(6)}));
  const ValueId left = unary("abs", ops::UnaryFn::Abs, unary("sin", ops::UnaryFn::Sin, x));
  const ValueId pooled =
      g.add1("mean", make_op<ops::Reduce>(ops::ReduceFn::Mean, std::vector<std::int64_t>{1}), {x});
  const ValueId right =
      unary("cos", ops::UnaryFn::Cos, binary("sub", ops::BinaryFn::Sub, pooled, x));
  const ValueId seen = unary("exp", ops::UnaryFn::Exp, right);
  const ValueId meet =
      unary("neg", ops::UnaryFn::Neg, binary("add", ops::BinaryFn::Add, left, seen));
  g.set_outputs({binary("square", ops::BinaryFn::Mul, meet, meet), seen}, {"y", "seen"});
  LowerOptions options;
  options.keep_on_cpu = {"Reduce"};
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), options, device())), cpu(cpu::lower(g, {}));
  for (const std::int64_t n : {3, 3, 3, 1, 65, 3})
    expect_same_as_cpu(
        session, cpu,
        {Value(test::random_tensor(DType::F32, {n, 6}, static_cast<std::uint32_t>(n)))}, 1e-5);
}

// Three axes of products that do not merge, a bias, a residual, an activation; and bf16, which the
// device does not multiply.
TEST(GpuLower, ContractionsOfEveryFloat) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    for (const bool swapped : {false, true}) {
      Graph g;
      const ValueId a = g.add_source("a", Fact::tensor(dtype, {2, 3, 2, 5, 7}));
      const ValueId b = g.add_source("b", Fact::tensor(dtype, {2, 2, 7, 9}));
      const ValueId r = g.add_source("r", Fact::tensor(dtype, {2, 3, 2, 5, 9}));
      const std::string one = "abcmk", other = "ackn";
      ValueId v = g.add1("product",
                         make_op<ops::Contract>(swapped ? std::vector<std::string>{other, one}
                                                        : std::vector<std::string>{one, other},
                                                "abcmn"),
                         swapped ? std::vector<ValueId>{b, a} : std::vector<ValueId>{a, b});
      const ValueId bias = g.add_constant("bias", test::random_tensor(dtype, {1, 1, 1, 1, 9}, 5));
      v = g.add1("bias/add", make_op<ops::Binary>(ops::BinaryFn::Add), {v, bias});
      v = relu(g, "relu", v);
      v = g.add1("residual", make_op<ops::Binary>(ops::BinaryFn::Add), {v, r});
      g.set_outputs({v}, {"y"});
      Graph copy = g;
      Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(g, {}));
      const auto kernels = kernels_of(session.program());
      if (dtype == DType::BF16)
        EXPECT_EQ(kernels, (std::vector<std::string>{"Contract", "Binary +relu +add"}));
      else
        EXPECT_EQ(kernels, (std::vector<std::string>{"Contract +add +relu +add"}));
      expect_same_as_cpu(session, cpu,
                         {Value(test::random_tensor(dtype, {2, 3, 2, 5, 7}, 1)),
                          Value(test::random_tensor(dtype, {2, 2, 7, 9}, 2)),
                          Value(test::random_tensor(dtype, {2, 3, 2, 5, 9}, 3))},
                         dtype == DType::F32   ? 1e-5
                         : dtype == DType::F16 ? 4e-3
                                               : 4e-2);
    }
  }
}

// A bias beside the convolution's own, PRelu's slopes and a residual in 16 bits, joined at a column
// that no vector fits.
TEST(GpuLower, ConvolutionsInHalfPrecisionWithEverything) {
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F16, {2, 7, 9, 8}));
  const auto row = [&](const std::string& name, std::int64_t channels, std::uint32_t seed) {
    return g.add_constant(name, test::random_tensor(DType::F16, {1, 1, 1, channels}, seed));
  };
  ValueId left = conv(g, "conv1", x, 8, 3, 3, 1);
  left = g.add1("bias", make_op<ops::Binary>(ops::BinaryFn::Add), {left, row("b", 3, 1)});
  left = g.add1("prelu", make_op<ops::Binary>(ops::BinaryFn::PRelu), {left, row("slope", 3, 2)});
  ValueId right = conv(g, "conv2", x, 8, 8, 1, 1);
  right = relu(g, "relu2", g.add1("sum", make_op<ops::Binary>(ops::BinaryFn::Add), {right, x}));
  g.set_outputs({g.add1("concat", make_op<ops::Concat>(3), {left, right})}, {"y"});
  for (const bool conv_on_cpu : {false, true}) {
    LowerOptions options;
    if (conv_on_cpu) options.keep_on_cpu = {"Conv"};
    Graph copy = g, again = g;
    Session session(gpu::lower(std::move(copy), options, device())),
        cpu(cpu::lower(std::move(again), {}));
    if (!conv_on_cpu) {
      for (const Step& s : session.program().steps)
        EXPECT_TRUE(s.queued || s.op_name == "Copy") << s.name << ": " << s.why_on_cpu;
    }
    for (int i = 0; i < 3; ++i)
      expect_same_as_cpu(session, cpu, {Value(test::random_tensor(DType::F16, {2, 7, 9, 8}, 4))},
                         4e-3);
  }
}

// The upper bound of a Clip wins over the lower one, in an epilogue too.
TEST(GpuLower, ClipWithItsBoundsSwapped) {
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {2, 7, 9, 8}));
  g.set_outputs({g.add1("clip", make_op<ops::Unary>(ops::UnaryFn::Clip, 0.5, -0.5),
                        {conv(g, "conv", x, 8, 8, 1, 1)})},
                {"y"});
  Session session(gpu::lower(std::move(g), {}, device()));
  EXPECT_EQ(kernels_of(session.program()), (std::vector<std::string>{"Conv +clip"}));
  const std::vector<Value> in{Value(test::random_tensor(DType::F32, {2, 7, 9, 8}, 1))};
  ASSERT_FALSE(session.run(in).has_value());
  for (const float v : session.output(0).tensor().span<float>()) ASSERT_EQ(v, -0.5f);
}

TEST(GpuLower, ProductsOverNothing) {
  for (const std::int64_t rows : {1, 3, 16, 65}) {
    for (const std::int64_t columns : {1, 4, 64}) {
      Graph g;
      const ValueId a = g.add_source("a", Fact::tensor(DType::F32, {rows, 0}));
      const ValueId b = g.add_source("b", Fact::tensor(DType::F32, {0, columns}));
      const ValueId bias = g.add_constant("bias", test::random_tensor(DType::F32, {1, columns}, 5));
      const ValueId v = g.add1(
          "product", make_op<ops::Contract>(std::vector<std::string>{"mk", "kn"}, "mn"), {a, b});
      g.set_outputs({g.add1("add", make_op<ops::Binary>(ops::BinaryFn::Add), {v, bias})}, {"y"});
      Graph copy = g;
      Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(g, {}));
      expect_same_as_cpu(
          session, cpu,
          {Value(Tensor(DType::F32, {rows, 0})), Value(Tensor(DType::F32, {0, columns}))});
    }
  }
}

// Sizes for which the weights are wanted in another layout than they were guessed to be.
TEST(GpuLower, ConvolutionsWhoseKernelIsKnownLate) {
  Graph g;
  const ValueId x = g.add_source(
      "x", Fact::tensor(DType::F32,
                        {g.named_symbol("N"), g.named_symbol("H"), g.named_symbol("W"), Dim(512)}));
  g.set_outputs({relu(g, "relu", conv(g, "conv", x, 512, 8, 1, 1))}, {"y"});
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(g, {}));
  for (const std::int64_t w : {3, 3, 3, 1, 5})
    expect_same_as_cpu(
        session, cpu,
        {Value(test::random_tensor(DType::F32, {1, 2, w, 512}, static_cast<std::uint32_t>(w)))},
        1e-4);
}

// The result has no axis that a bias could lie along.
TEST(GpuLower, ScalarProductsTakeNoEpilogue) {
  Graph g;
  const ValueId a = g.add_source("a", Fact::tensor(DType::F32, {3}));
  const ValueId b = g.add_source("b", Fact::tensor(DType::F32, {3}));
  const ValueId c = g.add_constant("c", Tensor::scalar<float>(0.5f));
  const ValueId v =
      g.add1("product", make_op<ops::Contract>(std::vector<std::string>{"k", "k"}, ""), {a, b});
  g.set_outputs({g.add1("add", make_op<ops::Binary>(ops::BinaryFn::Add), {v, c})}, {"y"});
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(g, {}));
  EXPECT_EQ(kernels_of(session.program()), (std::vector<std::string>{"Contract", "Binary"}));
  EXPECT_EQ(kernels_of(cpu.program()), (std::vector<std::string>{"Contract", "Binary"}));
  expect_same_as_cpu(session, cpu,
                     {Value(test::random_tensor(DType::F32, {3}, 1)),
                      Value(test::random_tensor(DType::F32, {3}, 2))},
                     1e-6);
}

TEST(GpuLower, ExactModelsRoundEachResultInHalfPrecision) {
  LowerOptions options;
  options.exact = true;
  const auto program = gpu::lower(elementwise_chain(DType::F16), options, device());
  EXPECT_EQ(kernels_of(*program).size(), 7u);
}

// A convolution without bias whose sum takes a value of the device, and one of the caller.
TEST(GpuLower, ResidualsOfConvolutionsWithoutBias) {
  Graph g;
  const ValueId x =
      g.add_source("x", Fact::tensor(DType::F32, {g.named_symbol("N"), Dim(7), Dim(9), Dim(8)}));
  const ValueId a = relu(g, "relu", x);
  const ValueId first = g.add1("add1", make_op<ops::Binary>(ops::BinaryFn::Add),
                               {conv(g, "conv1", a, 8, 8, 3, 1), a});
  const ValueId second = g.add1("add2", make_op<ops::Binary>(ops::BinaryFn::Add),
                                {conv(g, "conv2", first, 8, 8, 3, 1), x});
  g.set_outputs({second}, {"y"});
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(g, {}));
  for (const std::int64_t n : {2, 2, 2, 1, 3})
    expect_same_as_cpu(
        session, cpu,
        {Value(test::random_tensor(DType::F32, {n, 7, 9, 8}, static_cast<std::uint32_t>(10 + n)))});
  const DeviceCounters before = session.device_counters();
  expect_same_as_cpu(session, cpu, {Value(test::random_tensor(DType::F32, {3, 7, 9, 8}, 1))});
  EXPECT_EQ(session.device_counters().copies_to_host - before.copies_to_host, 1);
  EXPECT_EQ(session.device_counters().copies_to_device - before.copies_to_device, 1);
}

TEST(GpuLower, MemoryIsBounded) {
  LowerOptions options;
  options.max_tensor_bytes = 20000;
  Session session(gpu::lower(vision(), options, device())), cpu(cpu::lower(vision(), {}));
  expect_same_as_cpu(session, cpu, input(1, 1));
  for (int i = 0; i < 2; ++i) {
    const auto error = session.run(input(64, 2));
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), ErrorKind::Memory) << error->what();
    expect_same_as_cpu(session, cpu, input(1, 3));
  }
}

TEST(GpuLower, AnOperatorKeptOnTheCpuTakesOneMore) {
  LowerOptions options;
  options.keep_on_cpu = {"Pool"};
  Session session(gpu::lower(vision(), options, device())), cpu(cpu::lower(vision(), {}));
  for (int i = 0; i < 4; ++i) expect_same_as_cpu(session, cpu, input(2, 5));
  const DeviceCounters before = session.device_counters();
  expect_same_as_cpu(session, cpu, input(2, 6));
  EXPECT_EQ(session.device_counters().syncs - before.syncs, 2);
}

TEST(GpuLower, AnUnsupportedOperatorIsAnErrorWhenAskedFor) {
  LowerOptions options;
  options.require_device = true;
  options.keep_on_cpu = {"Pool"};
  try {
    gpu::lower(vision(), options, device());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
    EXPECT_NE(std::string(e.what()).find("pool"), std::string::npos) << e.what();
  }
}

// Values that cross between the memories several times, used on both sides.
TEST(GpuLower, ValuesCrossBothWays) {
  Graph g;
  const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {g.named_symbol("N"), Dim(6)}));
  const ValueId a = g.add1("exp", make_op<ops::Unary>(ops::UnaryFn::Exp), {x});
  const ValueId t = g.add1("tan", make_op<ops::Unary>(ops::UnaryFn::Tanh), {a});
  const ValueId s = g.add1("add", make_op<ops::Binary>(ops::BinaryFn::Add), {a, t});
  const ValueId u = g.add1("mul", make_op<ops::Binary>(ops::BinaryFn::Mul), {s, t});
  g.set_outputs({u, t, x}, {"u", "t", "x_again"});
  LowerOptions options;
  options.keep_on_cpu = {"Unary"};
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), options, device())), cpu(cpu::lower(g, {}));
  for (const std::int64_t n : {3, 3, 3, 1, 3, 65})
    expect_same_as_cpu(
        session, cpu,
        {Value(test::random_tensor(DType::F32, {n, 6}, static_cast<std::uint32_t>(n)))});
}

TEST(GpuLower, ObserverSeesEveryStepAndTheValuesOfTheDevice) {
  Session session(gpu::lower(vision(), {}, device()));
  std::size_t steps = 0;
  session.set_observer(
      [&](const Step&, std::span<const Value> out, std::int64_t, std::string_view) {
        ++steps;
        for (const Value& v : out) EXPECT_TRUE(v.is_tensor() && v.tensor().defined());
      });
  ASSERT_FALSE(session.run(input(2, 1)).has_value());
  EXPECT_EQ(steps, session.program().steps.size());
}

TEST(GpuLower, UnknownTargetsAreRefused) {
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", ""})
    EXPECT_THROW(gpu::device_from_name(name), Error) << name;
}

}  // namespace
}  // namespace treadle
