// The command as a whole: exit codes, messages, JSON.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/json.hpp"
#include "cli_util.hpp"
#include "onnx_model_builder.hpp"
#include "tensor/npy.hpp"
#include "tensor/npz.hpp"

namespace treadle::cli {
namespace {

using namespace treadle::testing;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class Command : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    // sum = x + w, y = relu(sum) over [n, 2].
    write("m.onnx", model({{node("Add", {"x", "w"}, {"sum"}), node("Relu", {"sum"}, {"y"})},
                           {value("x", 1, {"n", "2"})},
                           {value("y", 1, {"n", "2"})},
                           {floats("w", {2}, {1, -2})}}));
  }
};

TEST_F(Command, RunWritesOutputs) {
  write_npy_file(path("x.npy"), Tensor::of<float>({1, 2}, {4, 1}));
  const auto o = call({"run", path("m.onnx"), "--input", "x=" + path("x.npy"), "--output",
                       path("out.npz"), "--json"});
  ASSERT_EQ(o.code, kRight) << o.err;
  const Json j = Json::parse(o.out);
  EXPECT_EQ(j["outputs"][0]["name"], "y");
  EXPECT_EQ(j["outputs"][0]["max"], 5.0);
  const auto arrays = read_npz_file(path("out.npz"));
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_TRUE(arrays[0].second.identical(Tensor::of<float>({1, 2}, {5, 0})));
}

TEST_F(Command, RunShowsATable) {
  const auto o = call({"run", path("m.onnx"), "--input", "3", "--set", "n=2"});
  ASSERT_EQ(o.code, kRight) << o.err;
  EXPECT_TRUE(has(o.out, "f32[2, 2]")) << o.out;
  EXPECT_TRUE(has(o.out, "4 1 4 1")) << o.out;
  EXPECT_FALSE(has(o.out, "\x1b")) << "colours without a terminal";
}

TEST_F(Command, AnInnerNameCutsTheGraph) {
  const auto o = call({"run", path("m.onnx"), "--input", "sum=-1", "--json"});
  ASSERT_EQ(o.code, kRight) << o.err;
  EXPECT_EQ(Json::parse(o.out)["outputs"][0]["max"], 0.0);
}

TEST_F(Command, BadInputIsTwoWithAHint) {
  auto o = call({"run", path("none.onnx")});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "error: ") && has(o.err, "none.onnx") && has(o.err, "hint: ")) << o.err;
  o = call({"run", path("m.onnx")});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "input 'x'") && has(o.err, "is missing")) << o.err;
  EXPECT_EQ(call({"run", path("m.onnx"), "--input", "q=random"}).code, kBadInput);
  EXPECT_EQ(call({"run", path("m.onnx"), "--shape", "x=a b"}).code, kBadInput);
  EXPECT_EQ(call({"run"}).code, kBadInput);
  EXPECT_EQ(call({"dance"}).code, kBadInput);
  write("text.onnx", "hello, this is no model");
  o = call({"dump", path("text.onnx")});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "neither an ONNX model")) << o.err;
}

TEST_F(Command, UnsupportedIsThreeAndCheckNamesAll) {
  write("odd.onnx", model({{node("Foo", {"x"}, {"a"}), node("Bar", {"a"}, {"y"})},
                           {value("x", 1, {"2"})},
                           {value("y", 1, {"2"})}}));
  EXPECT_EQ(call({"run", path("odd.onnx"), "--input", "random"}).code, kUnsupported);
  const auto o = call({"check", path("odd.onnx"), "--json"});
  EXPECT_EQ(o.code, kUnsupported) << o.out << o.err;
  EXPECT_TRUE(has(o.out, "Foo") && has(o.out, "Bar")) << o.out;
  EXPECT_EQ(call({"check", path("m.onnx")}).code, kRight);
}

TEST_F(Command, WrongDeclaredShapesAreWarnings) {
  write("declared.onnx", model({{node("Neg", {"x"}, {"y"})},
                                {value("x", 1, {"2", "3"})},
                                {value("y", 1, {"2", "1"})}}));
  const std::string warning = "output 'y' is declared with shape [2, 1], but computed as f32[2, 3]";
  const auto run = call({"run", path("declared.onnx"), "--input", "random"});
  EXPECT_EQ(run.code, kRight) << run.err;
  EXPECT_TRUE(has(run.err, "warning: " + warning)) << run.err;
  const auto text = call({"check", path("declared.onnx")});
  EXPECT_EQ(text.code, kRight);
  EXPECT_TRUE(has(text.out, "warning: " + warning) && has(text.out, "can be run")) << text.out;
  const auto json = Json::parse(call({"check", path("declared.onnx"), "--json"}).out);
  EXPECT_TRUE(json["ok"]);
  EXPECT_EQ(json["warnings"], Json{warning});
}

TEST_F(Command, DumpListsNodesAtEachStage) {
  for (const std::string stage : {"import", "simplified", "lowered"}) {
    const auto o = call({"dump", path("m.onnx"), "--stage", stage, "--json"});
    ASSERT_EQ(o.code, kRight) << o.err;
    const Json j = Json::parse(o.out);
    EXPECT_EQ(j["inputs"][0]["shape"], (Json{"n", 2})) << stage;
    EXPECT_FALSE(j["nodes"].empty()) << stage;
  }
  EXPECT_EQ(call({"dump", path("m.onnx"), "--stage", "bound"}).code, kRight);
  const auto o = call({"dump", path("m.onnx"), "--stage", "import", "--node", "Source"});
  EXPECT_TRUE(has(o.out, "Source") && !has(o.out, "Constant  ")) << o.out;
}

TEST_F(Command, BenchHasEveryField) {
  const auto o = call({"bench", path("m.onnx"), "--runs", "7", "--json"});
  ASSERT_EQ(o.code, kRight) << o.err;
  const Json j = Json::parse(o.out);
  for (const char* field : {"load_ms", "ready_ms", "first_ms", "rss_ready_mb", "rss_peak_mb"})
    EXPECT_GT(j.at(field).get<double>(), 0) << field;
  EXPECT_TRUE(j.contains("allocs_per_run"));
  EXPECT_EQ(j["eval_ms"]["n"], 7);
  EXPECT_LE(j["eval_ms"]["min"].get<double>(), j["eval_ms"]["median"].get<double>());
  EXPECT_LE(j["eval_ms"]["median"].get<double>(), j["eval_ms"]["p95"].get<double>());
  EXPECT_EQ(j["samples"]["eval_ms"].size(), 7u);
  for (const char* field : {"device_mb", "copies", "syncs"})
    EXPECT_TRUE(j.at(field).is_null()) << field;
}

TEST_F(Command, BenchCountsWhatADeviceDoes) {
  const auto o = call({"bench", path("m.onnx"), "--target", "sim", "--runs", "300", "--json"});
  ASSERT_EQ(o.code, kRight) << o.err;
  const Json j = Json::parse(o.out);
  EXPECT_GT(j.at("device_mb").get<double>(), 0);
  EXPECT_EQ(j.at("copies"), 2) << "the input there, the output back";
  EXPECT_EQ(j.at("syncs"), 1);
  EXPECT_EQ(j["samples"]["eval_ms"].size(), 200u);
}

TEST_F(Command, BenchNeedsAModelOrACommand) {
  const auto o = call({"bench"});
  EXPECT_EQ(o.code, kBadInput);
  EXPECT_TRUE(has(o.err, "MODEL is required")) << o.err;
  EXPECT_TRUE(has(call({"bench", "suite", "--help"}).out, "--program"));
}

TEST_F(Command, ProfileWritesATrace) {
  const auto o =
      call({"profile", path("m.onnx"), "--runs", "2", "--json", "--trace", path("t.json")});
  ASSERT_EQ(o.code, kRight) << o.err;
  EXPECT_FALSE(Json::parse(o.out)["nodes"].empty());
  const auto bytes = read_file(path("t.json"));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_FALSE(Json::parse(text)["traceEvents"].empty());
}

TEST_F(Command, CompareAgreesWithStagesAndNamesADifference) {
  for (const std::string side : {"import", "simplified", "reference"})
    EXPECT_EQ(call({"compare", path("m.onnx"), "--against", side}).code, kRight) << side;
  const Tensor x = Tensor::of<float>({1, 2}, {4, 1});
  write_npz_file(path("ref.npz"), {{"x", x}, {"y", Tensor::of<float>({1, 2}, {5, 0})}});
  EXPECT_EQ(call({"compare", path("m.onnx"), "--against", path("ref.npz")}).code, kRight);
  write_npz_file(path("bad.npz"), {{"x", x},
                                   {"sum", Tensor::of<float>({1, 2}, {5, 9})},
                                   {"y", Tensor::of<float>({1, 2}, {5, 9})}});
  const auto o = call(
      {"compare", path("m.onnx"), "--against", path("bad.npz"), "--stage", "import", "--json"});
  EXPECT_EQ(o.code, kMismatch) << o.err;
  const Json j = Json::parse(o.out);
  EXPECT_EQ(j["first_mismatch"]["value"], "sum");
  EXPECT_NEAR(j["first_mismatch"]["max_abs"].get<double>(), 10, 1e-5);
}

TEST_F(Command, CompareReadsFoldersWithIoJson) {
  write("io.json",
        R"({"sets":[{"name":"s","inputs":[{"name":"x","file":"a.npy"}],
            "outputs":[{"name":"y","file":"b.npy"}]}],
            "stream":{"frames":2,"input":"x","output":"y","states":{}}})");
  write_npy_file(path("a.npy"), Tensor::of<float>({1, 2}, {4, 1}));
  write_npy_file(path("b.npy"), Tensor::of<float>({1, 2}, {5, 0}));
  write_npy_file(path("stream_input.npy"), Tensor::of<float>({2, 1, 2}, {0, 0, 1, 4}));
  write_npy_file(path("stream_output.npy"), Tensor::of<float>({2, 1, 2}, {1, 0, 2, 2}));
  auto o = call({"compare", path("m.onnx"), "--io", folder_, "--json"});
  EXPECT_EQ(o.code, kRight) << o.out << o.err;
  EXPECT_EQ(Json::parse(o.out)["compared"], 2);
  write_npy_file(path("stream_output.npy"), Tensor::of<float>({2, 1, 2}, {1, 0, 2, 3}));
  o = call({"compare", path("m.onnx"), "--io", folder_, "--json"});
  EXPECT_EQ(o.code, kMismatch);
  EXPECT_EQ(Json::parse(o.out)["first_mismatch"]["where"], "stream");
}

TEST_F(Command, InfoAndHelp) {
  const auto o = call({"info", "--json"});
  ASSERT_EQ(o.code, kRight);
  const Json j = Json::parse(o.out);
  for (const char* key : {"version", "commit", "compiler", "isa_found", "isa_used", "limits"})
    EXPECT_TRUE(j.contains(key)) << key;
  // Either there are devices or a reason.
  const Json& cuda = j.at("devices").at("cuda");
  EXPECT_EQ(cuda.at("devices").empty(), !cuda.at("why_not").get<std::string>().empty());
  const Json& metal = j.at("devices").at("metal");
  EXPECT_EQ(metal.at("devices").empty(), !metal.at("why_not").get<std::string>().empty());
  EXPECT_TRUE(j.at("devices").contains("sim"));
  EXPECT_TRUE(has(call({"info"}).out, "cuda  "));
  EXPECT_TRUE(has(call({"info"}).out, "metal  "));
  for (const char* c : {"run", "dump", "profile", "bench", "compare", "check", "info"}) {
    const auto help = call({c, "--help"});
    EXPECT_EQ(help.code, kRight) << c;
    EXPECT_TRUE(has(help.out, "--json")) << c;
  }
  EXPECT_TRUE(has(call({"--version"}).out, "treadle 0."));
}

}  // namespace
}  // namespace treadle::cli
