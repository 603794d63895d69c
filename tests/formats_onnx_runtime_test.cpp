// Inputs that exporters write as constants, computed at run time.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "formats/onnx/load.hpp"
#include "graph/evaluate.hpp"
#include "onnx_model_builder.hpp"

namespace treadle::onnx {
namespace {

using namespace treadle::testing;
using Numbers = std::vector<double>;
using Ints = std::vector<std::int64_t>;

Graph load_text(const std::string& bytes) {
  return load(MappedFile::from_memory(bytes), "m.onnx");
}

std::string string_attribute(const std::string& name, const std::string& v) {
  return attribute(name, 3, [&](pbf_writer& w) { w.add_bytes(4, v); });
}
std::string any(const std::string& name) {
  return value(name, 1, {"?"});
}

Tensor counting(const Shape& shape) {
  Tensor t(DType::F32, shape);
  float next = 0;
  for (float& x : t.mutable_span<float>()) x = next++;
  return t;
}

Tensor ints(const Ints& v) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

// One node over x and i64 inputs a, b, …, which are graph inputs, or initializers.
struct Case {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<Ints> arguments;
  std::vector<std::string> attributes = {};
  std::int64_t opset_version = 19;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      out.push_back(std::string(1, static_cast<char>('a' + i)));
    return out;
  }

  Tensor run(const Tensor& x, bool computed) const {
    std::vector<std::string> dims, initializers;
    for (const std::int64_t d : x.shape()) dims.push_back(std::to_string(d));
    std::vector<std::string> declared{value("x", 1, dims)};
    std::vector<Value> given{x};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (computed) {
        declared.push_back(value(names()[i], 7, {std::to_string(arguments[i].size())}));
        given.emplace_back(ints(arguments[i]));
      } else {
        initializers.push_back(i64s(names()[i], arguments[i]));
      }
    }
    const Graph g = load_text(
        model({{node(op, inputs, {"y"}, attributes)}, declared, {untyped("y")}, initializers},
              {opset("", opset_version)}));
    return evaluate(g, given)[0].tensor();
  }
};

// Channels that are known only at run time must be a multiple of the groups then.
TEST(OnnxGroupNormalization, ChannelsAreCheckedWhenTheyAreKnown) {
  const Graph g = load_text(
      model({{node("GroupNormalization", {"x", "s", "b"}, {"y"}, {int_attribute("num_groups", 2)})},
             {value("x", 1, {"1", "c"}), value("s", 1, {"c"}), value("b", 1, {"c"})},
             {untyped("y")}},
            {opset("", 21)}));
  const auto run = [&](std::int64_t c) {
    const std::vector<float> x(static_cast<std::size_t>(c), 1);
    const Tensor s = Tensor::from<float>(Shape{c}, x);
    return evaluate(g, {s.reshaped(Shape{1, c}), s, s})[0].tensor().to_f64();
  };
  EXPECT_EQ(run(4), (Numbers{1, 1, 1, 1}));
  EXPECT_THROW(run(3), Error);
}

TEST(OnnxComputed, GivesWhatAConstantGives) {
  const Ints pads(4, 0);
  const std::vector<std::pair<Case, Shape>> cases = {
      {{"Squeeze", {"x", "a"}, {{-1, 0}}}, {1, 3, 1}},
      {{"Unsqueeze", {"x", "a"}, {{4, 0, -2}}}, {2, 3}},
      {{"CenterCropPad", {"x", "a"}, {{5, 2}}, {ints_attribute("axes", {0, -1})}}, {2, 3, 7}},
      {{"CenterCropPad", {"x", "a"}, {{1, 4, 9}}}, {2, 4, 6}},
      {{"Col2Im", {"x", "a", "b"}, {{5, 5}, {1, 5}}}, {1, 5, 5}},
      {{"Col2Im", {"x", "a", "b"}, {{6, 6}, {2, 2}}, {ints_attribute("strides", {2, 2})}},
       {2, 8, 9}},
      {{"AffineGrid", {"x", "a"}, {{2, 1, 3, 4}}, {int_attribute("align_corners", 1)}, 20},
       {2, 2, 3}},
      {{"AffineGrid", {"x", "a"}, {{1, 1, 3, 1, 2}}, {int_attribute("align_corners", 1)}, 20},
       {1, 3, 4}},
      {{"AffineGrid", {"x", "a"}, {{1, 1, 3, 1, 2}}, {}, 20}, {1, 3, 4}},
      {{"Resize", {"x", "", "", "a"}, {{7, 3}}, {ints_attribute("axes", {3, 2})}}, {1, 2, 4, 6}},
      {{"Resize",
        {"x", "", "", "a"},
        {{7, 3}},
        {ints_attribute("axes", {2, 3}), string_attribute("keep_aspect_ratio_policy", "not_larger"),
         string_attribute("mode", "linear")}},
       {1, 2, 4, 6}},
      {{"Resize",
        {"x", "", "", "a"},
        {{7, 3}},
        {ints_attribute("axes", {2, 3}),
         string_attribute("keep_aspect_ratio_policy", "not_smaller")}},
       {1, 2, 4, 6}},
      {{"Tile", {"x", "a", "b"}, {{3}, {1}}, {}, 1}, {2, 2}},
  };
  for (const auto& [c, shape] : cases) {
    const Tensor x = counting(shape);
    const Tensor want = c.run(x, false), got = c.run(x, true);
    EXPECT_EQ(got.shape(), want.shape()) << c.op;
    const auto a = got.to_f64(), b = want.to_f64();
    ASSERT_EQ(a.size(), b.size()) << c.op;
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << c.op << " " << i;
  }
}

TEST(OnnxComputed, ValuesByHand) {
  const auto run = [](const Case& c, const Tensor& x) { return c.run(x, true).to_f64(); };
  const Tensor x = counting({5});
  EXPECT_EQ(run({"CenterCropPad", {"x", "a"}, {{2}}}, x), (Numbers{1, 2}));
  EXPECT_EQ(run({"CenterCropPad", {"x", "a"}, {{8}}}, x), (Numbers{0, 0, 1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(run({"Tile", {"x", "a", "b"}, {{2}, {1}}, {}, 1}, counting({2, 2})),
            (Numbers{0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(OnnxComputed, WrongValuesAreErrors) {
  const std::vector<std::pair<Case, Shape>> cases = {
      {{"Squeeze", {"x", "a"}, {{1}}}, {1, 3}},
      {{"Squeeze", {"x", "a"}, {{2}}}, {1, 3}},
      {{"Unsqueeze", {"x", "a"}, {{0, 0}}}, {2}},
      {{"Unsqueeze", {"x", "a"}, {{5}}}, {2}},
      {{"CenterCropPad", {"x", "a"}, {{-3}}}, {2}},
      {{"CenterCropPad", {"x", "a"}, {{3, 3}}}, {2}},
      {{"Col2Im", {"x", "a", "b"}, {{5, 5}, {0, 5}}}, {1, 5, 5}},
      {{"Col2Im", {"x", "a", "b"}, {{5, 5}, {5}}}, {1, 5, 5}},
      {{"AffineGrid", {"x", "a"}, {{1, 1, 2}}, {}, 20}, {1, 2, 3}},
      {{"Resize", {"x", "", "", "a"}, {{-1, 3}}}, {2, 2}},
      {{"Resize", {"x", "", "", "a"}, {{3}}}, {2, 2}},
  };
  for (const auto& [c, shape] : cases) EXPECT_THROW(c.run(counting(shape), true), Error) << c.op;
}

// x = ones, a quarter of which goes when training.
TEST(OnnxComputed, DropoutDrawsWhenTraining) {
  const Graph g =
      load_text(model({{node("Dropout", {"x", "r", "t"}, {"y", "m"}, {int_attribute("seed", 3)})},
                       {value("x", 1, {"n"}), value("r", 1, {}), value("t", 9, {})},
                       {any("y"), value("m", 9, {"n"})}}));
  constexpr std::int64_t kCount = 100'000;
  Tensor x(DType::F32, {kCount});
  for (float& v : x.mutable_span<float>()) v = 3;
  const Tensor ratio = Tensor::scalar(0.25f);
  const auto trained = evaluate(g, {x, ratio, Tensor::scalar(true)});
  const auto y = trained[0].tensor().span<float>();
  const auto m = trained[1].tensor().span<bool>();
  double kept = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(y[i], m[i] ? 4.0f : 0.0f);
    kept += m[i] ? 1 : 0;
  }
  EXPECT_NEAR(kept, 0.75 * kCount, 3.3 * std::sqrt(kCount * 0.75 * 0.25));
  const auto used = evaluate(g, {x, ratio, Tensor::scalar(false)});
  EXPECT_TRUE(used[0].tensor().identical(x));
  for (const bool b : used[1].tensor().span<bool>()) ASSERT_TRUE(b);
}

// Running sums of each entry of the batch, forwards or backwards, over as many steps as it has.
std::string batched_scan(std::int64_t direction, bool lengths) {
  const auto body =
      graph({{node("Add", {"s", "e"}, {"next"}), node("Add", {"next", "w"}, {"seen"})},
             {any("s"), any("e")},
             {any("next"), any("seen")}});
  return model({{node("Scan", {lengths ? "l" : "", "zero", "x"}, {"y", "all"},
                      {graph_attribute("body", body), int_attribute("num_scan_inputs", 1),
                       ints_attribute("directions", {direction})})},
                {value("l", 7, {"b"}), value("zero", 1, {"b", "1"}), value("x", 1, {"b", "t", "1"}),
                 value("w", 1, {"1"})},
                {value("y", 1, {"b", "1"}), value("all", 1, {"b", "t", "1"})}},
               {opset("", 8)});
}

TEST(OnnxScan, BatchesOfOpset8) {
  const Tensor x = Tensor::of<float>({2, 3, 1}, {1, 2, 3, 10, 20, 30});
  const Tensor zero = Tensor::of<float>({2, 1}, {0, 100}), w = Tensor::of<float>({1}, {0.5f});
  const auto run = [&](std::int64_t direction, bool use, const Ints& lengths) {
    const auto out = evaluate(load_text(batched_scan(direction, use)), {ints(lengths), zero, x, w});
    EXPECT_EQ(out[1].tensor().shape(), (Shape{2, 3, 1}));
    return std::pair(out[0].tensor().to_f64(), out[1].tensor().to_f64());
  };
  const auto whole = run(0, false, {0, 0});
  EXPECT_EQ(whole.first, (Numbers{6, 160}));
  EXPECT_EQ(whole.second, (Numbers{1.5, 3.5, 6.5, 110.5, 130.5, 160.5}));
  const auto partly = run(0, true, {2, 3});
  EXPECT_EQ(partly.first, (Numbers{3, 160}));
  EXPECT_EQ(partly.second, (Numbers{1.5, 3.5, 0, 110.5, 130.5, 160.5}));
  const auto backwards = run(1, true, {2, 1});
  EXPECT_EQ(backwards.first, (Numbers{3, 110}));
  EXPECT_EQ(backwards.second, (Numbers{2.5, 3.5, 0, 110.5, 0, 0}));
}

}  // namespace
}  // namespace treadle::onnx
