// The command line as a whole: subcommands, exit codes, errors.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace treadle::cli {

enum ExitCode : int {
  kRight = 0,
  kMismatch = 1,
  kBadInput = 2,
  kUnsupported = 3,
  kInternal = 70,
};

// A subcommand whose options are bound; `run` gives the exit code and may throw.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

Command add_run(CLI::App& root);
Command add_dump(CLI::App& root);
Command add_profile(CLI::App& root);
Command add_bench(CLI::App& root);
Command add_bench_suite(CLI::App& bench);
Command add_compare(CLI::App& root);
Command add_check(CLI::App& root);
Command add_info(CLI::App& root);

// All of it: parses, runs, and writes errors to standard error. Throws nothing.
int command(int argc, const char* const* argv) noexcept;

}  // namespace treadle::cli
