#include "cli/command.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "cli/build_info.hpp"
#include "cli/terminal.hpp"
#include "tensor/utf8.hpp"

namespace treadle::cli {
namespace {

constexpr const char* kDescription =
    "treadle runs trained neural networks (ONNX, TensorFlow GraphDef) on this machine.";
constexpr const char* kFooter =
    "Examples:\n"
    "  treadle run model.onnx --input image=photo.jpg\n"
    "  treadle run model.onnx --input random --shape image=1,3,224,224\n"
    "  treadle dump model.onnx --stage simplified\n"
    "  treadle bench model.onnx --threads 2\n"
    "  treadle check model.onnx\n\n"
    "`treadle COMMAND --help` explains one command.\n"
    "Exit codes: 0 right, 1 mismatch, 2 bad input, 3 unsupported, 70 internal error.";

void complain(std::string_view text, std::string_view hint) {
  std::fflush(stdout);
  std::string out = styled_error(Style::Red, "error:") + " " + std::string(text) + "\n";
  if (!hint.empty()) out += styled_error(Style::Yellow, "hint:") + " " + std::string(hint) + "\n";
  std::fputs(out.c_str(), stderr);
}

bool mentions(const Error& e, std::string_view text) {
  return e.message().find(text) != std::string::npos;
}

std::string_view hint_for(const Error& e) {
  switch (e.kind()) {
    case ErrorKind::Unsupported:
      if (mentions(e, "--instructions"))
        return "scripts/setup.sh installs valgrind; a build that was made without it is made again";
      return "`treadle check MODEL` lists everything in the model that cannot be run";
    case ErrorKind::Io:
      return "check the path and its permissions";
    case ErrorKind::Shape:
      return mentions(e, "symbol") ? "give sizes with --set NAME=SIZE or --shape INPUT=1,3,224,224"
                                   : "`treadle dump MODEL` shows the inputs and their shapes";
    case ErrorKind::Type:
      return "`treadle dump MODEL` shows the inputs and their types";
    case ErrorKind::Memory:
      if (mentions(e, "max_iterations")) return "--max-iterations N allows more";
      if (mentions(e, "max_seconds")) return "--max-seconds N allows more";
      return "a smaller shape (--shape, --set) needs less memory";
    case ErrorKind::Internal:
      return "this is a fault of treadle: please report it with the model";
    case ErrorKind::Parse:
    case ErrorKind::Device:
      break;
  }
  return {};
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Unsupported:
    case ErrorKind::Device:
      return kUnsupported;
    case ErrorKind::Internal:
      return kInternal;
    default:
      return kBadInput;
  }
}

int dispatch(int argc, const char* const* argv) {
  CLI::App app(kDescription, "treadle");
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  app.set_version_flag("--version",
                       fmt::format("treadle {} ({})", TREADLE_BUILD_VERSION, TREADLE_BUILD_COMMIT));
  const Command commands[] = {add_run(app),     add_dump(app),  add_profile(app), add_bench(app),
                              add_compare(app), add_check(app), add_info(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    complain(e.what(), "`treadle --help` and `treadle COMMAND --help` show what can be written");
    return kBadInput;
  }
  for (const Command& c : commands)
    if (app.got_subcommand(c.app)) return c.run();
  say(app.help());
  return argc > 1 ? kBadInput : kRight;
}

}  // namespace

int command(int argc, const char* const* argv) noexcept {
  try {
    try {
      return dispatch(argc, argv);
    } catch (const Error& e) {
      complain(printable(e.what()), hint_for(e));
      return exit_code(e.kind());
    } catch (const std::bad_alloc&) {
      complain("out of memory", "a smaller shape (--shape, --set) needs less memory");
      return kBadInput;
    } catch (const std::exception& e) {
      complain(e.what(), "this is a fault of treadle: please report it with the model");
      return kInternal;
    }
  } catch (...) {
    return kInternal;
  }
}

}  // namespace treadle::cli
