// Graphs lowered to a device: the answers of the CPU, the syncs and copies that were planned.
#include "cpu/lower.hpp"

#include <gtest/gtest.h>

#include "gpu/lower.hpp"
#include "gpu_util.hpp"
#include "ops/binary.hpp"
#include "ops/conv.hpp"
#include "ops/move.hpp"
#include "ops/pool.hpp"
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

TEST(GpuLower, ChainsThatTheDeviceRefusesAreTakenApart) {
  LowerOptions options;
  options.keep_on_cpu = {"Unary"};
  Session session(gpu::lower(elementwise_chain(DType::F32), options, device())),
      cpu(cpu::lower(elementwise_chain(DType::F32), {}));
  EXPECT_EQ(kernels_of(session.program()),
            (std::vector<std::string>{"Unary", "Binary", "Binary", "Binary", "Unary", "Binary",
                                      "Unary"}));
  for (const std::int64_t n : {3, 3, 1, 65})
    expect_same_as_cpu(session, cpu, chain_input(n, DType::F32), 1e-6);
}

// More operands and links than one launch takes.
TEST(GpuLower, LongChainsAreSeveralLaunches) {
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
  Graph copy = g;
  Session session(gpu::lower(std::move(copy), {}, device())), cpu(cpu::lower(g, {}));
  EXPECT_EQ(kernels_of(session.program()).size(), 3u);
  for (const std::int64_t n : {3, 3, 1, 65})
    expect_same_as_cpu(
        session, cpu,
        {Value(test::random_tensor(DType::F32, {n, 6}, static_cast<std::uint32_t>(n)))}, 1e-6);
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
