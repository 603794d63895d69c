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

ValueId conv(Graph& g, const std::string& name, ValueId x, std::int64_t from, std::int64_t to,
             std::int64_t kernel, std::int64_t stride) {
  ops::Conv op;
  op.layout = ops::Layout::ChannelsLast;
  op.weight_layout = ops::WeightLayout::HWIO;
  op.strides = {stride, stride};
  op.dilations = {1, 1};
  op.padding.before = op.padding.after = {kernel / 2, kernel / 2};
  const Tensor w = test::random_tensor(DType::F32, {kernel, kernel, from, to}, 7, -0.3, 0.3);
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
Graph vision() {
  Graph g;
  const ValueId x =
      g.add_source("x", Fact::tensor(DType::F32, {g.named_symbol("N"), Dim(17), Dim(19), Dim(3)}));
  const ValueId a = relu(g, "relu1", conv(g, "conv1", x, 3, 8, 3, 2));
  const ValueId p = max_pool(g, "pool", a);
  const ValueId left = conv(g, "conv2", p, 8, 4, 1, 1);
  const ValueId right = relu(g, "relu3", conv(g, "conv3", p, 8, 5, 3, 1));
  const ValueId both = g.add1("concat", make_op<ops::Concat>(3), {left, right});
  g.set_outputs({both}, {"y"});
  return g;
}

std::vector<Value> input(std::int64_t batch, std::uint32_t seed) {
  return {Value(test::random_tensor(DType::F32, {batch, 17, 19, 3}, seed))};
}

void expect_same_as_cpu(Session& session, Session& cpu, const std::vector<Value>& in) {
  const auto error = session.run(in);
  ASSERT_FALSE(error.has_value()) << error->what();
  ASSERT_FALSE(cpu.run(in).has_value());
  for (std::size_t i = 0; i < session.program().outputs.size(); ++i)
    test::expect_close(session.output(i).tensor(), cpu.output(i).tensor(), 1e-5, 1e-5, "output");
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
