// treadle check
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/model_args.hpp"
#include "cli/terminal.hpp"
#include "tensor/utf8.hpp"

namespace treadle::cli {
namespace {

struct Args {
  ModelArgs model;
  std::vector<std::string> inputs;
};

int run(const Args& args) {
  ModelOptions options = to_options(args.model);
  options.cut_inputs = args.inputs;
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const auto problems = check_model(args.model.path, options);
  bool unsupported = true;
  for (const auto& p : problems) unsupported = unsupported && p.kind == ErrorKind::Unsupported;
  const int code = problems.empty() ? kRight : unsupported ? kUnsupported : kBadInput;
  if (args.model.json) {
    Json j{{"model", args.model.path},
           {"ok", problems.empty()},
           {"problems", Json::array()},
           {"warnings", warnings}};
    for (const auto& p : problems)
      j["problems"].push_back({{"kind", name_of(p.kind)}, {"text", p.text}});
    say_json(j);
    return code;
  }
  for (const std::string& w : warnings)
    say(fmt::format("{} {}\n", styled(Style::Yellow, "warning:"), w));
  if (problems.empty()) {
    say(fmt::format("{} {} can be run\n", styled(Style::Green, "ok:"), args.model.path));
    return code;
  }
  for (const auto& p : problems)
    say(fmt::format("{} {}\n", styled(Style::Red, fmt::format("{}:", name_of(p.kind))),
                    printable(p.text)));
  say(fmt::format("{} problem{}\n", problems.size(), problems.size() == 1 ? "" : "s"));
  return code;
}

}  // namespace

Command add_check(CLI::App& root) {
  auto args = std::make_shared<Args>();
  CLI::App* app = root.add_subcommand(
      "check", "Say everything in a model that cannot be run, and why, all at once");
  add_model_args(*app, args->model);
  app->add_option("--input", args->inputs,
                  "Inner value that becomes an input: the graph is cut there");
  app->footer(
      "Example:\n  treadle check model.onnx\nExit code 0 when it can be run, 3 when "
      "something is unsupported, 2 when the file is broken.");
  return {app, [args] { return run(*args); }};
}

}  // namespace treadle::cli
