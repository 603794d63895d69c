// Many threads, one Model: the test that ThreadSanitizer runs.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "onnx_model_builder.hpp"
#include "treadle/treadle.hpp"

namespace {

namespace onnx_text = treadle::testing;
using treadle::v1::DataType;
using treadle::v1::LoadOptions;
using treadle::v1::Model;
using treadle::v1::NamedTensor;
using treadle::v1::Session;
using treadle::v1::Status;
using treadle::v1::Tensor;

constexpr int kThreads = 8;
constexpr int kRuns = 6;

std::vector<float> ramp(std::size_t n, float scale) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = scale * static_cast<float>(static_cast<int>((i * 37) % 101) - 50) / 50;
  return out;
}

// Convolution with bias and Relu, pooling, a matrix product whose weight all sessions pack, and an
// If whose branches are programs of their own.
std::string network() {
  using namespace onnx_text;
  const std::string then_branch =
      graph({{node("Mul", {"z", "two"}, {"then_y"})}, {}, {value("then_y", 1, {"batch", "8"})}});
  const std::string else_branch =
      graph({{node("Neg", {"z"}, {"else_y"})}, {}, {value("else_y", 1, {"batch", "8"})}});
  GraphText g;
  g.inputs = {value("x", 1, {"batch", "3", "12", "12"}), value("flag", 9, {})};
  g.outputs = {value("y", 1, {"batch", "8"})};
  g.initializers = {floats("w", {8, 3, 3, 3}, ramp(216, 0.3f)), floats("b", {8}, ramp(8, 0.1f)),
                    floats("m", {8, 8}, ramp(64, 0.5f)), floats("two", {1}, {2})};
  g.nodes = {node("Conv", {"x", "w", "b"}, {"c"}),
             node("Relu", {"c"}, {"r"}),
             node("GlobalAveragePool", {"r"}, {"p"}),
             node("Flatten", {"p"}, {"f"}),
             node("MatMul", {"f", "m"}, {"z"}),
             node("If", {"flag"}, {"y"},
                  {graph_attribute("then_branch", then_branch),
                   graph_attribute("else_branch", else_branch)})};
  return model(g);
}

Model load(int threads) {
  LoadOptions options;
  options.threads = threads;
  const std::string text = network();
  return Model::load(std::as_bytes(std::span(text)), options);
}

Tensor picture(std::int64_t batch) {
  return Tensor::from<float>({batch, 3, 12, 12}, ramp(static_cast<std::size_t>(batch) * 432, 1));
}

std::vector<float> run_once(Session& session, std::int64_t batch, bool flag) {
  const Tensor x = picture(batch);
  const Tensor f = Tensor::from<bool>({}, {flag});
  const Status status = session.run({{"x", x}, {"flag", f}});
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return {};
  const auto values = session.output(0).values<float>();
  return {values.begin(), values.end()};
}

// Each thread makes its session, and changes shapes and branches as it goes.
void equal_outputs(int pool) {
  const Model model = load(pool);
  std::vector<std::vector<float>> expected;
  {
    Session alone(load(1));
    for (int i = 0; i < kRuns; ++i) expected.push_back(run_once(alone, 1 + i % 3, i % 2 == 0));
  }
  ASSERT_EQ(expected[0].size(), 8u);
  ASSERT_NE(expected[0], std::vector<float>(8, 0.0f));
  std::vector<std::vector<std::vector<float>>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Session session(model);
      for (int i = 0; i < kRuns; ++i)
        got[static_cast<std::size_t>(t)].push_back(run_once(session, 1 + i % 3, i % 2 == 0));
    });
  for (auto& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < kRuns; ++i)
      EXPECT_EQ(got[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)],
                expected[static_cast<std::size_t>(i)])
          << "thread " << t << ", run " << i;
}

TEST(Threads, EightSessionsOfOneModel) {
  equal_outputs(1);
}

TEST(Threads, EightSessionsWithPoolsOfTwo) {
  equal_outputs(2);
}

TEST(Threads, LoadingWhileOthersRun) {
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> got(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Session session(load(1));
      got[static_cast<std::size_t>(t)] = run_once(session, 2, true);
    });
  for (auto& t : threads) t.join();
  for (const auto& g : got) EXPECT_EQ(g, got[0]);
}

}  // namespace
