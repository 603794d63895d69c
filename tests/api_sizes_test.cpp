// Models over many sizes: those that can be typed only when sizes are known, and what a session
// keeps of sizes that it has seen.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "api/public.hpp"
#include "onnx_model_builder.hpp"
#include "plan/session.hpp"
#include "tensor/limit.hpp"

namespace {

using namespace treadle::testing;
using treadle::v1::LoadOptions;
using treadle::v1::Status;
using treadle::v1::StatusCode;

// y = squeeze(x) where the last of x's two sizes is 1, else x; as exporters write Tensor.squeeze.
std::string squeeze_model() {
  const std::string then_branch =
      graph({{node("Squeeze", {"x", "last"}, {"a"})}, {}, {untyped("a")}});
  const std::string else_branch = graph({{node("Identity", {"x"}, {"b"})}, {}, {untyped("b")}});
  return model({{node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "last"}, {"size"}),
                 node("Equal", {"size", "one"}, {"is_one"}),
                 node("If", {"is_one"}, {"s"},
                      {graph_attribute("then_branch", then_branch),
                       graph_attribute("else_branch", else_branch)},
                      "", "branch"),
                 node("Relu", {"s"}, {"y"})},
                {value("x", 1, {"n", "m"})},
                {untyped("y")},
                {i64s("last", {-1}), i64s("one", {1})}});
}

std::vector<float> numbers(const treadle::v1::Tensor& t) {
  const auto v = t.values<float>();
  return {v.begin(), v.end()};
}

using Sizes = std::vector<std::int64_t>;

TEST(NeedsSizes, RanksThatFollowFromSizesAreFoundWhenTheyAreKnown) {
  using treadle::v1::Tensor;
  const auto m = treadle::v1::Model::load(bytes(squeeze_model()));
  ASSERT_EQ(m.inputs().size(), 1u);
  EXPECT_EQ(m.inputs()[0].shape, (Sizes{-1, -1}));
  ASSERT_EQ(m.outputs().size(), 1u);
  EXPECT_EQ(m.outputs()[0].name, "y");
  EXPECT_EQ(m.outputs()[0].shape, (Sizes{-1}));
  EXPECT_EQ(m.outputs()[0].dims, (std::vector<std::string>{"..."}));
  treadle::v1::Session s(m);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(s.run({{"x", Tensor::from<float>({3, 1}, {1, -2, 3})}}).ok());
    EXPECT_EQ(s.output("y").shape(), (Sizes{3}));
    EXPECT_EQ(numbers(s.output("y")), (std::vector<float>{1, 0, 3}));
    ASSERT_TRUE(s.run({{"x", Tensor::from<float>({1, 2}, {-1, 2})}}).ok());
    EXPECT_EQ(s.output("y").shape(), (Sizes{1, 2}));
    EXPECT_EQ(numbers(s.output("y")), (std::vector<float>{0, 2}));
  }
  const Status wrong = s.run({{"x", Tensor::from<float>({2}, {1, 2})}});
  EXPECT_EQ(wrong.code(), StatusCode::Shape);
  EXPECT_NE(wrong.message().find("input 'x'"), std::string::npos) << wrong.message();
  EXPECT_TRUE(s.run({{"x", Tensor::from<float>({1, 1}, {7})}}).ok());
}

TEST(NeedsSizes, ManySizesInManyThreadsKeepFewModels) {
  const auto m = treadle::v1::Model::load(bytes(squeeze_model()));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      treadle::v1::Session s(m);
      for (std::int64_t n = 1; n <= 12; ++n) {
        const treadle::v1::Tensor x(treadle::v1::DataType::Float32, {n, n % 3 + 1});
        if (!s.run({{"x", x}}).ok() || s.output(0).shape().size() != (n % 3 == 0 ? 1u : 2u))
          ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(NeedsSizes, GivenSizesAndSymbolsMakeAnOrdinaryModel) {
  LoadOptions options;
  options.shapes = {"x=batch,4"};
  const auto m = treadle::v1::Model::load(bytes(squeeze_model()), options);
  EXPECT_EQ(m.outputs()[0].dims, (std::vector<std::string>{"batch", "4"}));
  treadle::ModelOptions symbols;
  symbols.symbols = {{"m", 1}};
  const auto squeezed = treadle::Model::load(bytes(squeeze_model()), symbols);
  EXPECT_FALSE(squeezed->needs_sizes());
  EXPECT_EQ(squeezed->outputs()[0].fact.rank(), 1);
}

TEST(NeedsSizes, AnInputWithoutAShape) {
  using treadle::v1::Tensor;
  const auto m = treadle::v1::Model::load(bytes(model({{node("Add", {"x", "w"}, {"y"})},
                                                       {untyped("x")},
                                                       {untyped("y")},
                                                       {floats("w", {2}, {1, 2})}})));
  EXPECT_EQ(m.inputs()[0].dims, (std::vector<std::string>{"..."}));
  treadle::v1::Session s(m);
  ASSERT_TRUE(s.run({{"x", Tensor::from<float>({2}, {1, 1})}}).ok());
  EXPECT_EQ(numbers(s.output(0)), (std::vector<float>{2, 3}));
  ASSERT_TRUE(s.run({{"x", Tensor::from<float>({2, 1}, {0, 4})}}).ok());
  EXPECT_EQ(numbers(s.output(0)), (std::vector<float>{1, 2, 5, 6}));
  const Status wrong = s.run({{"x", Tensor::from<float>({3}, {1, 2, 3})}});
  EXPECT_NE(wrong.message().find("Add"), std::string::npos) << wrong.message();
}

// Sizes say nothing about a condition that is data: that stays an error of loading.
TEST(NeedsSizes, ConditionsThatAreDataDoNotWait) {
  const std::string a = graph({{}, {}, {untyped("x")}});
  const std::string b = graph({{node("Unsqueeze", {"x", "axis"}, {"b"})}, {}, {untyped("b")}});
  const std::string text =
      model({{node("If", {"c"}, {"y"},
                   {graph_attribute("then_branch", a), graph_attribute("else_branch", b)})},
             {value("x", 1, {"n"}), value("c", 9, {})},
             {untyped("y")},
             {i64s("axis", {0})}});
  EXPECT_THROW(treadle::v1::Model::load(bytes(text)), treadle::v1::Error);
}

// Nothing else hides behind missing sizes: what no sizes can mend is found at once.
TEST(NeedsSizes, OtherErrorsAreFoundAtOnce) {
  EXPECT_THROW(treadle::v1::Model::load(bytes(
                   model({{node("Frob", {"x"}, {"y"})}, {value("x", 1, {"n"})}, {untyped("y")}}))),
               treadle::v1::Error);
}

constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;

// Conv, Relu, Conv, Add, global mean.
std::string small_net() {
  const std::vector<float> w1(8 * 3 * 9, 0.01f), w2(8 * 8 * 9, 0.02f);
  const auto pads = attribute("pads", 7, [](pbf_writer& w) {
    for (int i = 0; i < 4; ++i) w.add_int64(8, 1);
  });
  return model({{node("Conv", {"x", "w1"}, {"a"}, {pads}), node("Relu", {"a"}, {"b"}),
                 node("Conv", {"b", "w2"}, {"c"}, {pads}), node("Add", {"c", "b"}, {"d"}),
                 node("GlobalAveragePool", {"d"}, {"y"})},
                {value("x", 1, {"1", "3", "h", "w"})},
                {value("y", 1, {"1", "8", "1", "1"})},
                {floats("w1", {8, 3, 3, 3}, w1), floats("w2", {8, 8, 3, 3}, w2)}});
}

TEST(ManySizes, ASessionKeepsNoMoreThanTheLargestNeeds) {
  using treadle::Tensor;
  const auto program = treadle::Model::load(bytes(small_net()))->program();
  const Tensor largest = Tensor::zeros(treadle::DType::F32, {1, 3, 128, 128});
  const treadle::TensorLimit limit(kNoLimit);
  const std::int64_t before = limit.used();
  std::int64_t alone = 0;
  {
    treadle::Session s(program);
    ASSERT_FALSE(s.run(std::vector<treadle::Value>{largest}));
    alone = limit.used() - before;
  }
  ASSERT_GT(alone, 0);
  EXPECT_EQ(limit.used(), before) << "a session gives everything back";
  treadle::Session s(program);
  for (std::int64_t i = 0; i < 300; ++i) {
    const Tensor x(largest.dtype(), {1, 3, 8 + i * 37 % 121, 8 + i * 53 % 121}, largest.data(),
                   std::make_shared<Tensor>(largest));
    ASSERT_FALSE(s.run(std::vector<treadle::Value>{x})) << i;
  }
  ASSERT_FALSE(s.run(std::vector<treadle::Value>{largest}));
  EXPECT_LE(static_cast<double>(limit.used() - before), 1.2 * static_cast<double>(alone));
}

// A Tile of a constant to 256 MB is not made while loading.
TEST(ManySizes, LargeTilesOfConstantsWaitForTheRun) {
  const std::string text = model({{node("Tile", {"one", "times"}, {"t"}),
                                   node("ReduceSum", {"t"}, {"y"}, {int_attribute("keepdims", 0)})},
                                  {},
                                  {value("y", 1, {})},
                                  {floats("one", {1, 1}, {1}), i64s("times", {8192, 8192})}});
  std::shared_ptr<const treadle::Model> m;
  {
    // All tensors of loading together.
    const treadle::TensorLimit limit(std::int64_t{32} << 20);
    m = treadle::Model::load(bytes(text));
  }
  treadle::Session s(m->program());
  const auto error = s.run({});
  ASSERT_FALSE(error) << error->what();
  EXPECT_EQ(s.output(0).tensor().span<float>()[0], 67108864.f);
}

}  // namespace
