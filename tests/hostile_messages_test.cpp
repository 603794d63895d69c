// What a user reads when a model or its inputs are wrong, and models that are small files but large
// work: through the public API.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "onnx_model_builder.hpp"
#include "treadle/treadle.hpp"

namespace {

using namespace treadle::testing;
using treadle::v1::LoadOptions;
using treadle::v1::Model;
using treadle::v1::NamedTensor;
using treadle::v1::Session;
using treadle::v1::Status;
using treadle::v1::StatusCode;
using treadle::v1::Tensor;

constexpr std::int64_t kHuge = std::int64_t{1} << 28;  // as f32: 1 GiB

const std::string kX = value("x", 1, {"batch", "2"});
const std::string kY = value("y", 1, {"batch", "2"});

std::string add_model() {
  return model(
      {{node("Add", {"x", "w"}, {"y"}, {}, "", "sum")}, {kX}, {kY}, {floats("w", {2}, {1, 2})}});
}

std::string ints(const std::string& name, const std::vector<std::int64_t>& values) {
  return tensor({name, {static_cast<std::int64_t>(values.size())}, 7, raw_bytes(values)});
}

Model load(const std::string& text) {
  LoadOptions options;
  options.max_tensor_bytes = 64 << 20;
  return Model::load(bytes(text), options);
}

std::string load_error(const std::string& text) {
  try {
    load(text);
  } catch (const treadle::v1::Error& e) {
    return e.what();
  }
  return "no error";
}

Status run(const std::string& text, std::initializer_list<NamedTensor> inputs) {
  Session session(load(text));
  return session.run(inputs);
}

// The error of loading or, when it loads, of running.
std::string error_of(const std::string& text, std::initializer_list<NamedTensor> inputs) {
  try {
    const Status status = run(text, inputs);
    return status.ok() ? "no error" : status.message();
  } catch (const treadle::v1::Error& e) {
    return e.what();
  }
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& p : parts)
    EXPECT_NE(text.find(p), std::string::npos) << "no '" << p << "' in: " << text;
}

TEST(HostileInputs, WrongShape) {
  const Status s = run(add_model(), {{"x", Tensor::from<float>({1, 3}, {1, 2, 3})}});
  EXPECT_EQ(s.code(), StatusCode::Shape);
  expect_parts(s.message(), {"input 'x'", "3", "2"});
  const Status rank = run(add_model(), {{"x", Tensor::from<float>({2}, {1, 2})}});
  EXPECT_EQ(rank.code(), StatusCode::Shape);
  expect_parts(rank.message(), {"input 'x'", "[2]", "[batch, 2]"});
}

TEST(HostileInputs, WrongType) {
  const Status s = run(add_model(), {{"x", Tensor::from<std::int64_t>({1, 2}, {1, 2})}});
  EXPECT_EQ(s.code(), StatusCode::Type);
  expect_parts(s.message(), {"input 'x'", "i64", "f32"});
}

TEST(HostileInputs, MissingUnknownAndRepeated) {
  expect_parts(run(add_model(), {}).message(), {"input 'x' is missing"});
  const Tensor x = Tensor::from<float>({1, 2}, {1, 2});
  expect_parts(run(add_model(), {{"x", x}, {"z", x}}).message(), {"no input 'z'"});
  EXPECT_FALSE(run(add_model(), {{"x", x}, {"x", x}}).ok());
}

TEST(HostileModels, UnknownOperator) {
  expect_parts(load_error(model({{node("Frobnicate", {"x"}, {"y"}, {}, "", "odd")}, {kX}, {kY}})),
               {"Frobnicate", "'odd'"});
}

// How often a text stands in another.
int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// The node of the file, the core node made from it and the operator's own text say each name once.
TEST(HostileModels, NamesEachNodeOnce) {
  const std::string x = value("x", 1, {"1", "3"});
  const std::string w = floats("w", {4}, {1, 2, 3, 4});
  for (const std::string name : {"sum", ""}) {
    const std::string text =
        load_error(model({{node("Add", {"x", "w"}, {"y"}, {}, "", name)}, {x}, {kY}, {w}}));
    const std::string called = name.empty() ? "y" : name;
    expect_parts(text, {"node '" + called + "' (Add, #0): input 1 has shape [1, 4]"});
    EXPECT_EQ(count(text, "node '"), 1) << text;
  }
  const std::string gather =
      load_error(model({{node("Gather", {"x", "w"}, {"y"}, {}, "", "g")}, {x}, {kY}, {w}}));
  expect_parts(gather, {"node 'g' (Gather, #0): input 1 must hold integers"});
  EXPECT_EQ(count(gather, "Gather"), 1) << gather;
}

// Nodes of a body may be called as the node around it: both are said.
TEST(HostileModels, NamesNodesAroundBodies) {
  const std::string body =
      graph({{node("Add", {"x", "w"}, {"o"}, {}, "", "same")}, {}, {value("o", 1, {"1", "3"})}});
  const std::string text = load_error(
      model({{node("If", {"c"}, {"y"},
                   {graph_attribute("then_branch", body), graph_attribute("else_branch", body)}, "",
                   "same")},
             {value("x", 1, {"1", "3"}), value("c", 9, {})},
             {kY},
             {floats("w", {4}, {1, 2, 3, 4})}}));
  expect_parts(text, {"node 'same' (If, #0): node 'same' (Add, #0): input 1 has shape [1, 4]"});
  EXPECT_EQ(count(text, "node '"), 2) << text;
}

TEST(HostileModels, CyclicGraph) {
  expect_parts(
      load_error(model({{node("Add", {"a", "x"}, {"y"}), node("Relu", {"y"}, {"a"})}, {kX}, {kY}})),
      {"cycle", "'y'", "'a'"});
}

TEST(HostileModels, DuplicateNames) {
  expect_parts(
      load_error(model({{node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})}, {kX}, {kY}})),
      {"'y' is defined twice", "Relu", "Neg"});
  const std::string w = floats("w", {2}, {1, 2});
  expect_parts(load_error(model({{node("Add", {"x", "w"}, {"y"})}, {kX}, {kY}, {w, w}})), {"'w'"});
}

TEST(HostileModels, ExternalDataStaysInItsFolder) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("treadle_hostile_" + std::to_string(getpid()));
  fs::create_directories(folder / "model");
  std::ofstream(folder / "secret.bin", std::ios::binary) << std::string(8, 'x');
  const auto error = [&](const std::string& location) -> std::string {
    const auto path = folder / "model" / "m.onnx";
    std::ofstream(path, std::ios::binary) << model({{node("Add", {"x", "w"}, {"y"})},
                                                    {kX},
                                                    {kY},
                                                    {external("w", 2, {{"location", location}})}});
    try {
      Model::load(path.string());
    } catch (const treadle::v1::Error& e) {
      return e.what();
    }
    return "no error";
  };
  for (const std::string location :
       {"../secret.bin", "/etc/passwd", "./../secret.bin", "a/../../secret.bin", "..", ""})
    expect_parts(error(location), {"m.onnx", "tensor 'w'"});
  fs::create_symlink(folder, folder / "model" / "out");
  expect_parts(error("out/secret.bin"), {"tensor 'w'", "out/secret.bin"});
  fs::remove_all(folder);
}

// Small files that ask for more than the limit of 64 MB; sizes known when the model is loaded.
TEST(HostileModels, LargeConstantSizes) {
  const std::string y = value("y", 1, {"n"});
  const std::string size = ints("size", {kHuge});
  const auto one = [&](const std::string& op, const std::vector<std::string>& in) {
    return error_of(model({{node(op, in, {"y"})}, {value("x", 1, {"1"})}, {y}, {size}}),
                    {{"x", Tensor::from<float>({1}, {1})}});
  };
  expect_parts(one("Expand", {"x", "size"}), {"Expand", "limit"});
  expect_parts(one("Tile", {"x", "size"}), {"Tile", "limit"});
  expect_parts(one("ConstantOfShape", {"size"}), {"ConstantOfShape", "limit"});
  const std::string pads = ints("pads", {kHuge, 0});
  expect_parts(
      error_of(model({{node("Pad", {"x", "pads"}, {"y"})}, {value("x", 1, {"1"})}, {y}, {pads}}),
               {{"x", Tensor::from<float>({1}, {1})}}),
      {"Pad", "limit"});
}

// The same with sizes that only the run tells.
TEST(HostileModels, LargeRunTimeSizes) {
  const std::string y = value("y", 1, {"n"});
  const std::string n = value("n", 7, {"1"});
  const Tensor huge = Tensor::from<std::int64_t>({1}, {kHuge});
  const auto two = [&](const std::string& op, const std::vector<std::string>& in) {
    return error_of(model({{node(op, in, {"y"})}, {value("x", 1, {"1"}), n}, {y}}),
                    {{"x", Tensor::from<float>({1}, {1})}, {"n", huge}});
  };
  expect_parts(two("Expand", {"x", "n"}), {"limit"});
  expect_parts(two("Tile", {"x", "n"}), {"limit"});
  expect_parts(error_of(model({{node("ConstantOfShape", {"n"}, {"y"})}, {n}, {y}}), {{"n", huge}}),
               {"limit"});
  const std::string scalar = value("s", 7, {});
  const std::string zero = tensor({"zero", {}, 7, raw_bytes(std::vector<std::int64_t>{0})});
  const std::string step = tensor({"step", {}, 7, raw_bytes(std::vector<std::int64_t>{1})});
  expect_parts(error_of(model({{node("Range", {"zero", "s", "step"}, {"y"})},
                               {scalar},
                               {value("y", 7, {"n"})},
                               {zero, step}}),
                        {{"s", Tensor::from<std::int64_t>({}, {kHuge})}}),
               {"limit"});
}

// Sixty doublings of a shape: the size overflows long before the last.
TEST(HostileModels, DoublingConcat) {
  GraphText g;
  g.inputs = {value("v0", 1, {"4"})};
  for (int i = 0; i < 60; ++i) {
    const std::string v = "v" + std::to_string(i);
    g.nodes.push_back(
        node("Concat", {v, v}, {"v" + std::to_string(i + 1)}, {int_attribute("axis", 0)}));
  }
  g.outputs = {value("v60", 1, {"n"})};
  expect_parts(error_of(model(g), {{"v0", Tensor::from<float>({4}, {1, 2, 3, 4})}}),
               {"Concat", "limit"});
}

// A thousand If in each other: refused, not a stack overflow.
TEST(HostileModels, DeepNesting) {
  std::string inner = graph({{node("Identity", {"x"}, {"o"})}, {}, {value("o", 1, {"2"})}});
  const std::string other = inner;
  for (int i = 0; i < 1000; ++i)
    inner = graph(
        {{node("If", {"c"}, {"o"},
               {graph_attribute("then_branch", inner), graph_attribute("else_branch", other)})},
         {},
         {value("o", 1, {"2"})}});
  const std::string text =
      model({{node("If", {"c"}, {"y"},
                   {graph_attribute("then_branch", inner), graph_attribute("else_branch", other)})},
             {value("x", 1, {"2"}), value("c", 9, {})},
             {value("y", 1, {"2"})}});
  expect_parts(load_error(text), {"nest"});
}

// MatMulNBits of 4 bits, K = 40, N = 3, with blocks of 32: B is [3, 2, 16]. Other attributes and
// shapes may be asked for.
struct NBits {
  std::int64_t K = 40, N = 3, block = 32, bits = 4;
  std::vector<std::int64_t> b{3, 2, 16}, scales{3, 2}, zeros{3, 1};
  int b_type = 2;  // u8
};

std::string n_bits_model(const NBits& t) {
  const auto filled = [](const std::string& name, const std::vector<std::int64_t>& dims, int type) {
    std::size_t n = type == 1 ? 4 : 1;
    for (const std::int64_t d : dims) n *= static_cast<std::size_t>(d);
    return tensor({name, dims, type, std::string(n, '\1')});
  };
  const std::vector<std::string> attributes{int_attribute("K", t.K), int_attribute("N", t.N),
                                            int_attribute("block_size", t.block),
                                            int_attribute("bits", t.bits)};
  return model(
      {{node("MatMulNBits", {"x", "B", "scales", "zeros"}, {"y"}, attributes, "com.microsoft",
             "product")},
       {value("x", 1, {"batch", "40"})},
       {value("y", 1, {"batch", "3"})},
       {filled("B", t.b, t.b_type), filled("scales", t.scales, 1), filled("zeros", t.zeros, 2)}});
}

TEST(HostileModels, QuantisedProductsThatDoNotFit) {
  const std::vector<std::pair<NBits, std::vector<std::string>>> cases{
      {{.block = 0}, {"'block_size' is 0", "expected a power of two"}},
      {{.block = 3}, {"'block_size' is 3", "expected a power of two"}},
      {{.block = 8}, {"'block_size' is 8", "from 16"}},
      {{.block = -32}, {"'block_size' is -32"}},
      {{.block = std::int64_t{1} << 40},
       {"'block_size' is 1099511627776", "expected a power of two"}},
      {{.block = std::int64_t{1} << 30}, {"input 1 'B'", "[3, 2, 16]"}},
      {{.bits = 3}, {"'bits' is 3", "expected 2, 4 or 8"}},
      {{.bits = 0}, {"'bits' is 0", "expected 2, 4 or 8"}},
      {{.bits = 8}, {"input 1 'B'", "[3, 2, 16]", "[3, 2, 32]"}},
      {{.K = 0}, {"'K' is 0", "expected 1"}},
      {{.K = std::int64_t{1} << 40}, {"'K' is 1099511627776"}},
      {{.K = 41}, {"input 0", "40", "41"}},
      {{.K = 100}, {"input 1 'B'", "[3, 2, 16]", "[3, 4, 16]"}},
      {{.N = 0}, {"'N' is 0", "expected 1"}},
      {{.N = -3}, {"'N' is -3"}},
      {{.N = 4}, {"input 1 'B'", "[3, 2, 16]", "[4, 2, 16]"}},
      {{.N = (std::int64_t{1} << 31) - 1}, {"input 1 'B'", "[3, 2, 16]"}},
      {{.b = {3, 2, 15}}, {"input 1 'B'", "[3, 2, 15]", "[3, 2, 16]"}},
      {{.b = {0, 2, 16}}, {"input 1 'B'", "[0, 2, 16]", "[3, 2, 16]"}},
      {{.scales = {3, 1}}, {"input 2 'scales'", "[3, 1]", "[3, 2]"}},
      {{.scales = {}}, {"input 2 'scales'", "[]", "[3, 2]"}},
      {{.zeros = {3, 2}}, {"input 3 'zero_points'", "[3, 2]", "[3, 1]"}},
      {{.b_type = 3}, {"input 1 'B'", "i8", "expected u8"}},
  };
  EXPECT_EQ(
      error_of(n_bits_model({}), {{"x", Tensor::from<float>({1, 40}, std::vector<float>(40, 1))}}),
      "no error");
  for (const auto& [t, parts] : cases) {
    const std::string text = load_error(n_bits_model(t));
    expect_parts(text, {"product", "MatMulNBits"});
    expect_parts(text, parts);
  }
}

// Whatever the attributes and shapes, there is an error or a run.
TEST(HostileModels, AnyQuantisedProduct) {
  std::mt19937_64 random(12);
  const std::vector<std::int64_t> numbers{-1,
                                          0,
                                          1,
                                          2,
                                          3,
                                          4,
                                          8,
                                          15,
                                          16,
                                          31,
                                          32,
                                          33,
                                          40,
                                          64,
                                          1 << 20,
                                          kHuge,
                                          std::int64_t{1} << 31,
                                          INT64_MIN,
                                          INT64_MAX};
  const auto some = [&] { return numbers[random() % numbers.size()]; };
  int runs = 0;
  for (int i = 0; i < 3000; ++i) {
    NBits t;
    for (std::int64_t* const p : {&t.K, &t.N, &t.block, &t.bits}) {
      if (random() % 4 == 0) *p = some();
    }
    for (auto* const shape : {&t.b, &t.scales, &t.zeros}) {
      if (random() % 4 == 0)
        (*shape)[random() % shape->size()] = static_cast<std::int64_t>(random() % 40);
      if (random() % 16 == 0) shape->resize(random() % 4, 2);
    }
    const std::string text =
        error_of(n_bits_model(t), {{"x", Tensor::from<float>({1, 40}, std::vector<float>(40, 1))}});
    runs += text == "no error";
    if (text != "no error") expect_parts(text, {"MatMulNBits"});
  }
  EXPECT_GT(runs, 50);
  EXPECT_LT(runs, 2000);
}

}  // namespace
