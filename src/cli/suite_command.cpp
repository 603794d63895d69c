// treadle bench suite
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/instructions.hpp"
#include "cli/process.hpp"
#include "cli/suite_probe.hpp"
#include "cli/suite_run.hpp"
#include "cli/suite_summary.hpp"
#include "cli/terminal.hpp"

namespace treadle::cli {
namespace {

struct Args {
  std::string suite, only;
  std::vector<std::string> out, programs;
  int rounds = 0;      // 0: as the file says
  double seconds = 0;  // 0: as the file says
  bool instructions = false;
  bool json = false;
};

// A file of JSON lines, whole lines at any time.
class Lines {
 public:
  explicit Lines(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "w")) {
    check(file_ != nullptr, ErrorKind::Io, "--out {}: {}", path_, std::strerror(errno));
  }

  void add(const Json& record) {
    const std::string line = record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
                         std::fflush(file_.get()) == 0;
    check(written, ErrorKind::Io, "--out {}: {}", path_, std::strerror(errno));
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

std::vector<SuiteProgram> ask_programs(const Args& args) {
  std::vector<SuiteProgram> out;
  if (args.programs.empty()) out.push_back(ask_program(own_program()));
  for (const std::string& path : args.programs) out.push_back(ask_program(path));
  return out;
}

std::vector<std::unique_ptr<Lines>> open_outputs(const Args& args, std::size_t programs) {
  check(args.out.size() <= 1 || args.out.size() == programs, ErrorKind::Parse,
        "--out is given {} times for {} programs; expected once, or once a program",
        args.out.size(), programs);
  std::vector<std::unique_ptr<Lines>> files;
  for (const std::string& path : args.out) files.push_back(std::make_unique<Lines>(path));
  return files;
}

void show_progress(std::size_t done, std::size_t all, const std::string& what) {
  std::fprintf(stderr, "\r\x1b[K[%zu/%zu] %s", done, all, what.c_str());
  std::fflush(stderr);
}

Suite read(const Args& args) {
  const char* root = std::getenv("TREADLE_MODELS");
  SuiteOverrides overrides;
  if (args.seconds > 0) overrides.seconds = args.seconds;
  Suite suite = read_suite(args.suite, root ? root : "", overrides);
  if (args.rounds > 0) suite.rounds = args.rounds;
  suite.instructions = args.instructions;
  return suite;
}

// Rather than a failure of each entry.
void check_counting(const std::vector<SuiteProgram>& programs) {
  find_valgrind();
  for (const SuiteProgram& p : programs)
    check(p.counts_instructions, ErrorKind::Unsupported,
          "--instructions: {} cannot count them; expected a build with valgrind/callgrind.h, of "
          "the Debian package valgrind, and with `bench --instructions`",
          p.path);
}

int run(const Args& args) {
  const Suite suite = read(args);
  const auto programs = ask_programs(args);
  if (suite.instructions) check_counting(programs);
  const auto files = open_outputs(args, programs.size());
  SuiteResults results;
  SuiteHooks hooks;
  hooks.probe = calibrate;
  hooks.write = [&](std::size_t program, const Json& record) {
    results.add(program, record);
    if (!files.empty()) files[files.size() == 1 ? 0 : program]->add(record);
  };
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) hooks.progress = show_progress;
  const SuiteSummary summary = run_suite(suite, args.only, programs, hooks);
  if (terminal) std::fputs("\r\x1b[K", stderr);
  if (args.json) {
    Json j = to_json(summary);
    j["results"] = results.json(programs);
    say_json(j);
  } else {
    say(results.text(programs));
    say(to_text(summary));
  }
  return summary.failed == 0 ? kRight : kMismatch;
}

}  // namespace

Command add_bench_suite(CLI::App& bench) {
  auto args = std::make_shared<Args>();
  CLI::App* app = bench.add_subcommand(
      "suite", "Measure the models that a file lists, each in a process of its own");
  app->add_option("SUITE", args->suite, "The list, e.g. bench/suites/quick.toml")->required();
  app->add_option("--out", args->out,
                  "File for the measurements, one JSON object a line; with several --program one "
                  "for all, or one for each");
  app->add_option("--rounds", args->rounds, "Rounds, in place of the file's")
      ->check(CLI::Range(1, 1000));
  app->add_option("--time", args->seconds, "Seconds an entry, in place of the file's")
      ->check(CLI::Range(0.01, 3600.0));
  app->add_option("--only", args->only, "Only entries that have this text in their name");
  app->add_option("--program", args->programs,
                  "A build of treadle to measure in place of this one; several take turns");
  app->add_flag("--instructions", args->instructions,
                "Also count the instructions of entries on one thread of the CPU, by valgrind");
  app->add_flag("--json", args->json, "Write the summary as JSON");
  app->footer(
      "Exit code 1 when a measurement failed. docs/benchmarking.md explains the file.\nExamples:\n"
      "  treadle bench suite bench/suites/quick.toml --out now.jsonl\n"
      "  treadle bench suite bench/suites/quick.toml --program old/treadle --program new/treadle "
      "\\\n"
      "    --out old.jsonl --out new.jsonl");
  return {app, [args] { return run(*args); }};
}

}  // namespace treadle::cli
