// Faults that users of inference engines met: each model of this folder with the inputs in its
// .json must give what expected.json says, on every path and with known and unknown sizes.
//
// Arrays are {"t": ONNX element type, "s": shape, "d": elements or "fill": one for all}; f16
// elements are their bits; "nan", "inf" and "-inf" are text. An entry of expected.json has
// "output", or "error": texts that the error holds; "static": why the model does not load with
// unknown sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/half.hpp"
#include "formats/onnx/load.hpp"
#include "formats/onnx/types.hpp"
#include "onnx_backend/compare_values.hpp"
#include "onnx_backend/run_path.hpp"

namespace treadle {
namespace {

using backend::Path;
using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kFolder = TREADLE_CASES;

json read_json(const fs::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

double number(const json& j) {
  if (j.is_boolean()) return j.get<bool>() ? 1 : 0;
  if (!j.is_string()) return j.get<double>();
  if (j == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  return j == "-inf" ? -inf : inf;
}

Tensor read_tensor(const json& j) {
  const DType dtype = onnx::dtype_of_onnx(j.at("t").get<std::int64_t>());
  Shape shape;
  for (const json& d : j.at("s")) shape.push_back(d.get<std::int64_t>());
  Tensor t(dtype, shape);
  dispatch(dtype, [&]<typename T>(T) {
    auto to = t.mutable_span<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const double v = number(j.contains("fill") ? j["fill"] : j.at("d").at(i));
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        to[i].bits = static_cast<std::uint16_t>(v);
      } else {
        to[i] = static_cast<T>(v);
      }
    }
  });
  return t;
}

SymShape unknown_sizes(const std::string& name, const Tensor& t) {
  SymShape shape;
  for (int i = 0; i < t.rank(); ++i) shape.push_back(Dim::symbol(fmt::format("{}_{}", name, i)));
  return shape;
}

std::vector<Value> run(const std::string& name, Path path, bool unknown) {
  const json inputs = read_json(kFolder / (name + ".json"));
  onnx::LoadOptions options;
  for (const auto& [input, array] : inputs.items()) {
    const Tensor t = read_tensor(array);
    if (unknown) options.input_shapes[input] = unknown_sizes(input, t);
  }
  const backend::PathRunner runner(onnx::load(kFolder / (name + ".onnx"), options), path);
  std::vector<Value> values;
  for (const ValueId v : runner.graph().inputs()) {
    values.emplace_back(read_tensor(inputs.at(runner.graph().value_name(v))));
  }
  return runner.run(values);
}

using Param = std::tuple<std::string, Path, bool>;
class Case : public testing::TestWithParam<Param> {};

TEST_P(Case, GivesTheRightAnswer) {
  const auto& [name, path, unknown] = GetParam();
  const json expected = read_json(kFolder / "expected.json").at(name);
  if (unknown && expected.contains("static")) {
    EXPECT_THROW(run(name, path, unknown), Error) << "it does load with unknown sizes";
    return;
  }
  if (!expected.contains("error")) {
    std::vector<Value> outputs;
    ASSERT_NO_THROW(outputs = run(name, path, unknown));
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(backend::difference(outputs[0], read_tensor(expected.at("output")), {1e-6, 1e-6}),
              "");
    return;
  }
  try {
    run(name, path, unknown);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    for (const json& part : expected["error"]) {
      EXPECT_NE(std::string(e.what()).find(part.get<std::string>()), std::string::npos)
          << e.what() << "\ndoes not name " << part;
    }
  }
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  const json expected = read_json(kFolder / "expected.json");
  for (const auto& [name, entry] : expected.items()) names.push_back(name);
  return names;
}

std::string param_name(const testing::TestParamInfo<Param>& param) {
  static constexpr const char* kPaths[] = {"reference", "simplified", "session"};
  const auto& [name, path, unknown] = param.param;
  return fmt::format("{}_{}{}", name, kPaths[static_cast<std::size_t>(path)],
                     unknown ? "_unknown_sizes" : "");
}

INSTANTIATE_TEST_SUITE_P(All, Case,
                         testing::Combine(testing::ValuesIn(case_names()),
                                          testing::Values(Path::Reference, Path::Simplified,
                                                          Path::Session),
                                          testing::Bool()),
                         param_name);

// Every model of the folder is listed.
TEST(Cases, AreComplete) {
  const json expected = read_json(kFolder / "expected.json");
  std::size_t models = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".onnx") continue;
    ++models;
    EXPECT_TRUE(expected.contains(entry.path().stem().string())) << entry.path();
  }
  EXPECT_EQ(models, expected.size());
}

}  // namespace
}  // namespace treadle
