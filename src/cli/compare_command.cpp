// treadle compare
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/command.hpp"
#include "cli/compare_io.hpp"
#include "cli/inputs.hpp"
#include "cli/model_args.hpp"
#include "cli/terminal.hpp"
#include "cli/trace_stage.hpp"
#include "tensor/npy.hpp"
#include "tensor/npz.hpp"

namespace treadle::cli {
namespace {

struct Args {
  ModelArgs model;
  InputArgs input;
  std::string against = "import", stage = "cpu", io;
  Tolerance tolerance;
  bool all = false;
};

using Values = std::map<std::string, Tensor, std::less<>>;

Values read_folder(const std::string& folder) {
  Values out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".npy")
      out.insert_or_assign(entry.path().stem().string(), read_npy_file(entry.path().string()));
  check(!out.empty(), ErrorKind::Io, "{}: no .npy files in it", folder);
  return out;
}

// Reference values from a file; nullopt when `against` names a stage.
std::optional<Values> read_reference(const std::string& against) {
  if (side_from_name(against)) return std::nullopt;
  std::error_code code;
  if (std::filesystem::is_directory(against, code)) return read_folder(against);
  Values out;
  for (auto& [name, tensor] : read_npz_file(against)) out.insert_or_assign(name, tensor);
  return out;
}

class Comparison {
 public:
  explicit Comparison(const Args& args) : args_(args), options_(to_options(args.model)) {
    options_.cut_inputs = input_names(args.input);
    report_.model = args.model.path;
  }

  CompareReport run() {
    if (auto values = read_reference(args_.against)) {
      reference_ = std::move(*values);
      from_file_ = true;
    } else {
      trace(*side_from_name(args_.against), args_.model.path, against_options(), maker(),
            [&](const std::string& name, const std::string&, const Tensor& t) {
              reference_.insert_or_assign(name, t.clone());
            });
    }
    trace(*side_from_name(args_.stage), args_.model.path, options_, maker(),
          [&](const std::string& name, const std::string& node, const Tensor& t) {
            compare(name, node, t);
          });
    for (const auto& [name, t] : reference_)
      if (!seen_.contains(name)) ++report_.skipped;
    return std::move(report_);
  }

 private:
  // The reference runs where its name says, by itself on the CPU: --target is of what is tested.
  ModelOptions against_options() const {
    ModelOptions options = options_;
    options.lower.target = names_device(args_.against) ? args_.against : "cpu";
    return options;
  }

  // Inputs that the reference file holds are taken from it.
  std::function<std::vector<Value>(std::span<const Port>)> maker() {
    return [this](std::span<const Port> ports) {
      std::vector<Port> open;
      std::vector<Value> out(ports.size());
      std::vector<std::size_t> places;
      const auto named = input_names(args_.input);
      for (std::size_t i = 0; i < ports.size(); ++i) {
        const auto at = reference_.find(ports[i].name);
        const bool given = std::find(named.begin(), named.end(), ports[i].name) != named.end();
        if (from_file_ && !given && at != reference_.end()) {
          out[i] = at->second;
          seen_.insert(ports[i].name);
        } else {
          open.push_back(ports[i]);
          places.push_back(i);
        }
      }
      if (open.empty()) return out;
      auto made = make_inputs(open, args_.input, options_.symbols, Missing::Random);
      for (std::size_t k = 0; k < made.size(); ++k) out[places[k]] = std::move(made[k]);
      return out;
    };
  }

  // A value in another layout under the same name is no counterpart, unless a file asks for it or
  // it is an output.
  void compare(const std::string& name, const std::string& node, const Tensor& got) {
    const auto want = reference_.find(name);
    const bool is_output = node == "the model's outputs";
    if (want == reference_.end()) return;
    const bool same_type =
        got.dtype() == want->second.dtype() && got.shape() == want->second.shape();
    if (!same_type && !from_file_ && !is_output) return;
    if (!seen_.insert(name).second) return;
    report_.findings.push_back(
        {node, name, difference(got, want->second, args_.tolerance), false, true});
  }

  const Args& args_;
  ModelOptions options_;
  CompareReport report_;
  Values reference_;
  bool from_file_ = false;
  std::set<std::string, std::less<>> seen_;
};

int run(const Args& args) {
  const CompareReport report = args.io.empty() ? Comparison(args).run()
                                               : compare_io(args.model.path, args.io,
                                                            to_options(args.model), args.tolerance);
  if (args.model.json)
    say_json(to_json(report));
  else
    say(to_text(report, args.all));
  return report.ok() ? kRight : kMismatch;
}

}  // namespace

Command add_compare(CLI::App& root) {
  auto args = std::make_shared<Args>();
  CLI::App* app = root.add_subcommand(
      "compare", "Compare a model's values with reference values, node by node");
  add_model_args(*app, args->model);
  add_input_args(*app, args->input);
  app->add_option(
         "--against", args->against,
         "file.npz or a folder of .npy (arrays named like the model's values), a stage "
         "(import, simplified), or a target (reference, cpu, cuda, sim); --target is of what "
         "is compared with it")
      ->capture_default_str();
  app->add_option("--stage", args->stage, "What is tested")
      ->check(CLI::IsMember({"import", "simplified", "lowered", "bound", "reference", "cpu"}))
      ->capture_default_str();
  app->add_option("--io", args->io,
                  "Folder with io.json: runs its input sets and streaming traces");
  app->add_option("--tolerance,--atol", args->tolerance.absolute, "Absolute tolerance of floats")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--rtol", args->tolerance.relative,
                  "Tolerance relative to the largest reference value of the tensor")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_flag("--all", args->all, "List values that agree as well");
  app->footer(
      "Exit code 0 when all agree, 1 at a mismatch (the first one in order of computation "
      "is named).\nExamples:\n"
      "  treadle compare model.onnx --against import\n"
      "  treadle compare model.onnx --against values.npz\n"
      "  treadle compare model.onnx --target cuda --against cpu\n"
      "  treadle compare models/mnist/model.onnx --io models/mnist");
  return {app, [args] { return run(*args); }};
}

}  // namespace treadle::cli
