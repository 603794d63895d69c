// Broken files, odd names and odd sizes, through the command: exit codes and messages.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "cli/json.hpp"
#include "cli_util.hpp"
#include "onnx_model_builder.hpp"
#include "tensor/npy.hpp"

namespace treadle::cli {
namespace {

using namespace treadle::testing;

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& p : parts)
    EXPECT_NE(text.find(p), std::string::npos) << "no '" << p << "' in: " << text;
}

class Faults : public FolderTest {
 protected:
  std::string array(const std::string& name, const Tensor& t) const {
    write_npy_file(path(name), t);
    return path(name);
  }
  // The message of `run` on a model that cannot be read; it names the file.
  std::string refused(const std::string& text, int code = kBadInput) const {
    const auto o = call({"run", write("broken.onnx", text), "--input", "random"});
    EXPECT_EQ(o.code, code) << o.err;
    expect_parts(o.err, {"broken.onnx"});
    return o.err;
  }
};

const std::string kX = value("x", 1, {"2"});
const std::string kY = value("y", 1, {"2"});

std::string relu(const std::vector<std::string>& opsets) {
  return model({{node("Relu", {"x"}, {"y"})}, {kX}, {kY}}, opsets);
}

TEST_F(Faults, FilesThatAreNoModels) {
  expect_parts(refused(""), {"empty"});
  std::string no_graph;
  pbf_writer(no_graph).add_int64(1, 8);
  refused(no_graph);
  unsigned seed = 7;
  for (int round = 0; round < 20; ++round) {
    std::string noise(1024, 0);
    for (char& c : noise) c = static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24);
    refused(noise);
  }
  const auto folder = call({"run", folder_, "--input", "random"});
  EXPECT_EQ(folder.code, kBadInput) << folder.err;
}

TEST_F(Faults, CutFiles) {
  const std::vector<float> w(256, 1);
  const std::string whole = model({{node("MatMul", {"x", "w"}, {"a"}), node("Relu", {"a"}, {"y"})},
                                   {value("x", 1, {"n", "16"})},
                                   {value("y", 1, {"n", "16"})},
                                   {floats("w", {16, 16}, w)}});
  for (std::size_t tenth = 1; tenth <= 9; ++tenth)
    refused(whole.substr(0, whole.size() * tenth / 10));
}

TEST_F(Faults, Versions) {
  expect_parts(refused(relu({opset("", 0)})), {"version 0"});
  expect_parts(refused(relu({opset("", 999)}), kUnsupported), {"opset 999"});
  expect_parts(refused(relu({})), {"opset"});
  expect_parts(refused(relu({opset("com.example", 1)})), {"ai.onnx"});
}

TEST_F(Faults, TypesAndOperators) {
  expect_parts(refused(model({{node("Relu", {"x"}, {"y"})}, {value("x", 999, {"2"})}, {kY}})),
               {"input 'x'", "999"});
  expect_parts(
      refused(
          model({{node("Cast", {"x"}, {"y"}, {int_attribute("to", 999)}, "", "c")}, {kX}, {kY}})),
      {"'c'", "Cast", "999"});
  expect_parts(refused(model({{node("Frob", {"x"}, {"y"}, {}, "acme", "f")}, {kX}, {kY}},
                             {opset("", 17), opset("acme", 1)}),
                       kUnsupported),
               {"acme.Frob", "'f'"});
}

TEST_F(Faults, Wiring) {
  expect_parts(refused(model({{node("Add", {"a", "x"}, {"y"}, {}, "", "n1"),
                               node("Relu", {"y"}, {"a"}, {}, "", "n2")},
                              {kX},
                              {kY}})),
               {"cycle", "n1", "n2"});
  expect_parts(refused(model({{node("Add", {"x", "nowhere"}, {"y"}, {}, "", "n1")}, {kX}, {kY}})),
               {"n1", "'nowhere'"});
  expect_parts(refused(model({{node("Relu", {"x"}, {"y"})}, {kX}, {kY, kY}})), {"'y'", "twice"});
  expect_parts(refused(model({{node("Relu", {"x"}, {"y"}, {}, "", "n1"),
                               node("Neg", {"x"}, {"y"}, {}, "", "n2")},
                              {kX},
                              {kY}})),
               {"'y'", "twice"});
  expect_parts(refused(model({{node("Relu", {"x"}, {"x"}, {}, "", "n1")}, {kX}, {kX}})), {"'x'"});
  expect_parts(refused(model({{node("Split", {"x"}, {"y", "y"}, {}, "", "n1")}, {kX}, {kY}})),
               {"'y'"});
  expect_parts(refused(model({{node("Relu", {"x"}, {"a"})}, {kX}, {kY}})), {"output 'y'"});
}

// Names are bytes: they come back as they are, in messages, tables and JSON.
TEST_F(Faults, OddNames) {
  const std::string x = "输入/x:0", a = "a b\"c", y = "выход é:0";
  const std::string file =
      write("模型é 1.onnx",
            model({{node("Relu", {x}, {a}, {}, "", "层/1"), node("Neg", {a}, {y}, {}, "", "层 2")},
                   {value(x, 1, {"批", "2"})},
                   {value(y, 1, {"批", "2"})}}));
  const std::string data = array("数 据.npy", Tensor::of<float>({1, 2}, {3, -4}));
  const auto o = call({"run", file, "--input", x + "=" + data, "--output", path("出"), "--json"});
  ASSERT_EQ(o.code, kRight) << o.err;
  EXPECT_EQ(Json::parse(o.out)["outputs"][0]["name"], y);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("出"))) {
    ++files;
    const Tensor t = read_npy_file(entry.path().string());
    EXPECT_EQ(t.span<float>()[0], -3.f);
  }
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(call({"run", file, "--input", a + "=1", "--set", "批=2"}).code, kRight);
  EXPECT_EQ(call({"run", file, "--input", x + "=2", "--set", "批=3"}).code, kRight);
  EXPECT_EQ(call({"run", file, "--input", x + "=2", "--shape", x + "=4,2"}).code, kRight);
  const auto dump = call({"dump", file});
  ASSERT_EQ(dump.code, kRight) << dump.err;
  expect_parts(dump.out, {x, y, "层/1", "层 2"});
  EXPECT_EQ(call({"dump", file, "--node", "层/1"}).code, kRight);
  const auto missing = call({"run", file});
  EXPECT_EQ(missing.code, kBadInput);
  expect_parts(missing.err, {x});
}

// Labels are labels: they may disagree, and so may sizes that turn out to.
TEST_F(Faults, DimLabels) {
  const std::string file =
      write("labels.onnx", model({{node("Add", {"a", "b"}, {"y"}, {}, "", "sum")},
                                  {value("a", 1, {"1", "2", "p"}), value("b", 1, {"1", "2", "q"})},
                                  {value("y", 1, {"batch", "x", "r"})}}));
  const Tensor a = Tensor::zeros(DType::F32, {1, 2, 831}),
               b = Tensor::zeros(DType::F32, {1, 2, 830});
  const std::string fa = array("a.npy", a), fb = array("b.npy", b);
  EXPECT_EQ(call({"run", file, "--input", "a=" + fa, "--input", "b=" + fa}).code, kRight);
  for (const std::string mode : {"", "--reference"}) {
    std::vector<std::string> args{"run", file, "--input", "a=" + fa, "--input", "b=" + fb};
    if (!mode.empty()) args.push_back(mode);
    const auto o = call(args);
    EXPECT_EQ(o.code, kBadInput) << o.err;
    expect_parts(o.err, {"add", "'sum'", "'a'", "'b'", "831", "830"});
  }
  // An inner value's label, and a declared number that contradicts what is computed (a warning).
  GraphText inner{{node("Relu", {"x"}, {"h"}), node("Neg", {"h"}, {"y"})},
                  {value("x", 1, {"1", "384"})},
                  {value("y", 1, {"batch", "x"})}};
  inner.value_infos = {value("h", 1, {"unk__3", "unk__4"})};
  EXPECT_EQ(call({"run", write("inner.onnx", model(inner)), "--input", "1"}).code, kRight);
  inner.outputs = {value("y", 1, {"1", "385"})};
  const auto other = call({"run", write("inner.onnx", model(inner)), "--input", "1"});
  EXPECT_EQ(other.code, kRight);
  expect_parts(other.err, {"warning", "output 'y'", "385", "384"});
}

// Ranks that follow from sizes come from what the inputs are: no --shape is needed.
TEST_F(Faults, SizesComeFromTheInputs) {
  const std::string file = write(
      "squeeze.onnx",
      model(
          {{node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "last"}, {"size"}),
            node("Equal", {"size", "one"}, {"is_one"}),
            node("If", {"is_one"}, {"y"},
                 {graph_attribute(
                      "then_branch",
                      graph({{node("Squeeze", {"x", "last"}, {"a"})}, {}, {untyped("a")}})),
                  graph_attribute("else_branch",
                                  graph({{node("Identity", {"x"}, {"b"})}, {}, {untyped("b")}}))})},
           {value("x", 1, {"n", "m"})},
           {untyped("y")},
           {i64s("last", {-1}), i64s("one", {1})}}));
  const std::string data = array("x.npy", Tensor::of<float>({2, 1}, {3, 4}));
  for (const std::string command : {"run", "bench", "profile"}) {
    std::vector<std::string> args{command, file, "--input", "x=" + data};
    if (command == "bench") args.insert(args.end(), {"--runs", "5"});
    const auto o = call(args);
    EXPECT_EQ(o.code, kRight) << command << o.err;
    if (command == "run") expect_parts(o.out, {"f32[2]"});
  }
  expect_parts(call({"run", file, "--input", "x=" + data, "--reference"}).out, {"f32[2]"});
  expect_parts(call({"run", file, "--input", "x=1", "--set", "n=2", "--set", "m=3"}).out,
               {"f32[2, 3]"});
  EXPECT_EQ(call({"check", file}).code, kRight);
  // The sizes are not known: the message says what to give.
  const auto o = call({"run", file, "--input", "x=1"});
  EXPECT_EQ(o.code, kBadInput);
  expect_parts(o.err, {"input 'x'"});
}

TEST_F(Faults, LimitsAreOptions) {
  const std::string body =
      graph({{node("Identity", {"v"}, {"next"}), node("Identity", {"go"}, {"go_on"})},
             {value("i", 7, {}), value("go", 9, {}), value("v", 1, {"2"})},
             {value("go_on", 9, {}), value("next", 1, {"2"})}});
  const std::string file =
      write("loop.onnx",
            model({{node("Loop", {"", "", "x"}, {"y"}, {graph_attribute("body", body)}, "", "lp")},
                   {kX},
                   {kY}}));
  auto o = call({"run", file, "--input", "1", "--max-iterations", "50"});
  EXPECT_EQ(o.code, kBadInput) << o.err;
  expect_parts(o.err, {"'lp'", "50 iterations"});
  o = call({"run", file, "--input", "1", "--max-seconds", "0.01"});
  expect_parts(o.err, {"'lp'", "max_seconds"});
  expect_parts(call({"info", "--json"}).out, {"\"max_iterations\""});
  o = call({"run", write("r.onnx", relu({opset("", 17)})), "--input", "1", "--max-nodes", "1"});
  EXPECT_EQ(o.code, kBadInput) << o.err;
}

}  // namespace
}  // namespace treadle::cli
