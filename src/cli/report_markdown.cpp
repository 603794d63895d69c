#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/report_text.hpp"

namespace treadle::cli::report {
namespace {

// GitHub refuses comments of more than 65,536 characters.
constexpr std::size_t kMostBytes = 60'000;

// Names as code, in which neither HTML nor mentions nor links are read.
std::string code(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::size_t end = std::min(text.size(), kMost);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;  // characters stay whole
  if (end == 0) return "`-`";
  std::string out = "`";
  for (const char c : text.substr(0, end)) {
    if (c == '|')
      out += "\\|";  // ends the cell otherwise, even in code
    else if (c == '`')
      out += '\'';
    else
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return out + "`";
}

const char* mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::Regression:
      return "❌ worse";
    case Verdict::Improvement:
      return "✅ better";
    case Verdict::SuspectWorse:
      return "⚠️ suspect, worse";
    case Verdict::SuspectBetter:
      return "suspect, better";
    default:
      return "";
  }
}

bool stands_out(const Row& row) {
  return *mark(row.verdict) != 0;
}

constexpr const char* kHeader =
    "| entry | base | new | change | judged against | |\n|---|--:|--:|--:|---|---|\n";

std::string line(const Row& row) {
  const Metric& metric = kMetrics[row.metric];
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(entry_text(row.key)),
                     value_text(metric, row.base), value_text(metric, row.now), change_text(row),
                     noise_text(row), mark(row.verdict));
}

// Rows by (metric, device), in order.
using Groups = std::map<std::pair<std::size_t, std::string>, std::vector<const Row*>>;

template <typename Wanted>
Groups group(const Report& report, Wanted wanted) {
  Groups out;
  for (const Row& row : report.rows)
    if (wanted(row)) out[{row.metric, device_of(row.key)}].push_back(&row);
  return out;
}

std::string heading(const Groups::value_type& group) {
  const Metric& metric = kMetrics[group.first.first];
  return fmt::format("\n#### {} ({}) of {}\n\n{}", metric.title, metric.name,
                     code(group.first.second), kHeader);
}

// As many lines as fit, and how many did not.
std::string tables(const Groups& groups, std::size_t room) {
  std::string out;
  std::size_t left_out = 0;
  for (const auto& g : groups) {
    std::string table = heading(g);
    for (const Row* row : g.second) {
      std::string next = line(*row);
      if (left_out > 0 || out.size() + table.size() + next.size() > room)
        ++left_out;
      else
        table += next;
    }
    if (table.size() > heading(g).size()) out += table;
  }
  if (left_out > 0)
    out += fmt::format("\n… and {} more rows: `--json` and `--html` have them all.\n", left_out);
  return out;
}

std::string names(const char* what, const std::vector<SeriesKey>& keys) {
  if (keys.empty()) return {};
  constexpr std::size_t kMost = 20;
  std::string out = fmt::format("\n{}: ", what);
  for (std::size_t i = 0; i < std::min(keys.size(), kMost); ++i)
    out += fmt::format("{}{} of {}", i == 0 ? "" : ", ", code(entry_text(keys[i])),
                       code(device_of(keys[i])));
  return out + (keys.size() > kMost ? ", …\n" : "\n");
}

std::string failures(const std::vector<Failure>& all) {
  if (all.empty()) return {};
  constexpr std::size_t kMost = 10;
  std::string out = "\nFailed in the new measurements:\n\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i)
    out += fmt::format("- {}: {}\n", code(entry_text(all[i].key)), code(all[i].error));
  if (all.size() > kMost) out += fmt::format("- … and {} more\n", all.size() - kMost);
  return out;
}

std::string method(const Report& report) {
  return fmt::format(
      "\nA change counts beyond the floor of its metric and three times the scatter of its series "
      "({} runs of history), and is confirmed when it holds in most pairs of rounds{}.\n",
      report.history_runs, report.rerun ? "; suspects were run again" : "");
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string out = "## " + title_of(report) + "\n";
  if (!report.base_commit.empty() || !report.new_commit.empty())
    out += fmt::format("\n{} → {}\n", code(report.base_commit), code(report.new_commit));
  out += tables(group(report, stands_out), kMostBytes / 2);
  if (const auto notes = notes_of(report); !notes.empty()) {
    out += "\n";
    for (const std::string& n : notes) out += "- " + n + "\n";
  }
  out += failures(report.failures);
  out += names("Only in the base", report.only_base);
  out += names("Only in the new measurements", report.only_new);
  out += names("Without an undisturbed round on a side", report.no_rounds);
  out += method(report);
  out += fmt::format("\n<details>\n<summary>All {} measurements</summary>\n", report.rows.size());
  const std::size_t room = kMostBytes > out.size() ? kMostBytes - out.size() : 0;
  out += tables(group(report, [](const Row&) { return true; }), room);
  return out + "\n</details>\n";
}

}  // namespace treadle::cli::report
