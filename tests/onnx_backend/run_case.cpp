#include "onnx_backend/run_case.hpp"

#include <filesystem>

#include "formats/onnx/data.hpp"
#include "formats/onnx/load.hpp"

namespace treadle::backend {
namespace {

namespace fs = std::filesystem;

std::string run_set(const fs::path& set, const PathRunner& runner, const Tolerance& tolerance) {
  const Graph& graph = runner.graph();
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto file = set / ("input_" + std::to_string(i) + ".pb");
    inputs.push_back(onnx::read_value(MappedFile::open(file), graph.fact(graph.inputs()[i])));
  }
  const auto outputs = runner.run(inputs);
  std::string text;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto file = set / ("output_" + std::to_string(k) + ".pb");
    const Value expected = onnx::read_value(MappedFile::open(file), graph.fact(graph.outputs()[k]));
    const std::string d = difference(outputs[k], expected, tolerance);
    if (!d.empty()) text += fmt::format("output {}: {}; ", k, d);
  }
  return text;
}

}  // namespace

Outcome run_case(const std::string& folder, Path path, const Tolerance& tolerance) {
  try {
    const PathRunner runner(onnx::load(folder + "/model.onnx"), path);
    int sets = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().rfind("test_data_set_", 0) != 0) continue;
      ++sets;
      const std::string text = run_set(entry.path(), runner, tolerance);
      if (!text.empty()) return {Status::Fail, text};
    }
    if (sets == 0) return {Status::Fail, "no test data"};
    return {};
  } catch (const Error& e) {
    std::string text = e.what();
    if (text.rfind(folder, 0) == 0) text = text.substr(folder.size() + 1);
    return {e.kind() == ErrorKind::Unsupported ? Status::Unsupported : Status::Fail, text};
  } catch (const std::exception& e) {
    return {Status::Fail, fmt::format("exception: {}", e.what())};
  }
}

}  // namespace treadle::backend
