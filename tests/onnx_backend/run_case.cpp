#include "onnx_backend/run_case.hpp"

#include <filesystem>

#include "cpu/lower.hpp"
#include "formats/onnx/data.hpp"
#include "formats/onnx/load.hpp"
#include "graph/evaluate.hpp"
#include "passes/simplify.hpp"
#include "plan/session.hpp"

namespace treadle::backend {
namespace {

namespace fs = std::filesystem;

std::vector<Value> run_session(const std::shared_ptr<const Program>& program,
                               const std::vector<Value>& inputs) {
  Session session(program);
  if (auto error = session.run(inputs)) throw *std::move(error);
  std::vector<Value> outputs;
  for (std::size_t i = 0; i < program->outputs.size(); ++i) {
    const Value& v = session.output(i);
    outputs.push_back(v.is_tensor() ? Value(v.tensor().clone()) : v);
  }
  return outputs;
}

std::string run_set(const fs::path& set, const Graph& graph,
                    const std::shared_ptr<const Program>& program, const Tolerance& tolerance) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto file = set / ("input_" + std::to_string(i) + ".pb");
    inputs.push_back(onnx::read_value(MappedFile::open(file), graph.fact(graph.inputs()[i])));
  }
  const auto outputs = program ? run_session(program, inputs) : evaluate(graph, inputs);
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
    Graph graph = onnx::load(folder + "/model.onnx");
    std::shared_ptr<const Program> program;
    if (path != Path::Reference) simplify(graph);
    if (path == Path::Session) program = cpu::lower(graph, {});
    int sets = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().rfind("test_data_set_", 0) != 0) continue;
      ++sets;
      const std::string text = run_set(entry.path(), graph, program, tolerance);
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
