// What a user reads when a model or its inputs are wrong, and models that are small files but large
// work: through the public API.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
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

}  // namespace
