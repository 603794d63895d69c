// fuzz_diff_runner FOLDER: the engine's side of tests/fuzz_diff/run.py, many models in one process.
// Each line of standard input asks for one run of FOLDER/model.onnx with the arrays of
// FOLDER/in.npz: "session" (simplified, lowered, run twice) or "reference" (operator by operator).
// Outputs go to FOLDER/out.npz. The answer is one line: "ok", followed by " fast" when every step
// of the program has a kernel; or the kind of the error and its text.
#include <algorithm>
#include <iostream>
#include <string>

#include "api/model.hpp"
#include "base/error.hpp"
#include "plan/program.hpp"
#include "plan/session.hpp"
#include "tensor/npz.hpp"

namespace treadle {
namespace {

constexpr std::int64_t kTensorBytes = 1'000'000'000;

std::vector<Value> inputs_of(const Model& model, const NamedTensors& arrays) {
  std::vector<Value> inputs;
  for (const Port& port : model.inputs()) {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const auto& a) { return a.first == port.name; });
    check(found != arrays.end(), ErrorKind::Io, "no array for input '{}'", port.name);
    inputs.emplace_back(found->second);
  }
  return inputs;
}

std::string_view run(const std::string& folder, bool reference) {
  ModelOptions options;
  options.lower.reference = reference;
  options.limits.max_tensor_bytes = kTensorBytes;
  const auto loaded = Model::load(folder + "/model.onnx", options);
  const auto inputs = inputs_of(*loaded, read_npz_file(folder + "/in.npz"));
  const auto model = loaded->for_inputs(inputs);
  Session session(model->program());
  // The second run uses what the first one bound.
  for (int turn = 0; turn < 2; ++turn)
    if (auto error = session.run(inputs)) throw Error(*error);
  NamedTensors outputs;
  for (std::size_t i = 0; i < model->outputs().size(); ++i)
    outputs.emplace_back(model->outputs()[i].name, session.output(i).tensor());
  write_npz_file(folder + "/out.npz", outputs);
  const auto& steps = model->program()->steps;
  if (steps.empty()) return "nothing";
  const bool kernels =
      std::ranges::all_of(steps, [](const Step& s) { return s.kernel != nullptr; });
  return kernels ? "kernels" : "reference";
}

std::string answer(const std::string& folder, const std::string& request) {
  try {
    check(request == "session" || request == "reference", ErrorKind::Io, "no such request: {}",
          request);
    return fmt::format("ok {}", run(folder, request == "reference"));
  } catch (const Error& e) {
    std::string text = fmt::format("{} {}", name_of(e.kind()), e.what());
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
}

}  // namespace
}  // namespace treadle

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_diff_runner FOLDER\n";
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);)
    std::cout << treadle::answer(argv[1], line) << std::endl;
}
