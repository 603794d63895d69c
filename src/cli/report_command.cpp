#include "cli/report_command.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.hpp"
#include "cli/report_rerun.hpp"
#include "cli/report_text.hpp"
#include "cli/terminal.hpp"
#include "tensor/file.hpp"

namespace treadle::cli::report {
namespace {

struct Args {
  std::string base, now, history, html, rerun;
  bool json = false;
};

Records read_side(const std::string& path) {
  Records records = read_records({path});
  check(!records.series.empty(), ErrorKind::Parse, "'{}': expected records, got an empty file",
        path);
  return records;
}

int run(const Args& args) {
  const Records base = read_side(args.base), now = read_side(args.now);
  const Records history = args.history.empty() ? Records() : read_folder(args.history);
  Report report = compare(base, now, history);
  if (!args.rerun.empty()) rerun(report, base, args.rerun);
  if (!args.html.empty()) {
    const std::string page = to_html(report);
    write_file(args.html, std::as_bytes(std::span(page)));
  }
  if (args.json)
    say_json(to_json(report));
  else
    say(to_markdown(report));
  return report.count(Verdict::Regression) > 0 ? kMismatch : kRight;
}

}  // namespace

Command add_report(CLI::App& bench) {
  auto args = std::make_shared<Args>();
  CLI::App* app = bench.add_subcommand("report", "What changed between two files of measurements");
  app->add_option("BASE", args->base, "Measurements of the base (JSON lines of `bench suite`)")
      ->required();
  app->add_option("NEW", args->now, "Measurements of the change")->required();
  app->add_option("--history", args->history,
                  "Folder of *.jsonl of earlier runs, which tell the noise of each series");
  app->add_option("--html", args->html, "Also write a page with charts");
  app->add_option("--rerun", args->rerun,
                  "Shell command that measures suspects again: it reads TREADLE_RERUN_ENTRIES (one "
                  "a line) and writes records to the files that TREADLE_RERUN_NEW and "
                  "TREADLE_RERUN_BASE name");
  app->add_flag("--json", args->json, "Write JSON instead of Markdown");
  app->footer(
      "The exit code is 1 when a regression is confirmed.\nExamples:\n"
      "  treadle bench report main.jsonl change.jsonl --history bench/history\n"
      "  treadle bench report main.jsonl change.jsonl --html report.html --json");
  return {app, [args] { return run(*args); }};
}

}  // namespace treadle::cli::report
