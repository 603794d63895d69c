#include "cli/suite_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/statistics.hpp"
#include "cli/terminal.hpp"

namespace treadle::cli {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Column {
  const char* metric;
  const char* title;
  int digits;
  bool always = true;  // or only where a line has a value
};
constexpr Column kColumns[] = {{"eval_ms", "run ms", 4},
                               {"ready_ms", "ready ms", 2},
                               {"first_ms", "first ms", 2},
                               {"eval_minstr", "run Minstr", 3, false},
                               {"rss_peak_mb", "peak MB", 1}};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string entries(std::size_t n) {
  return n == 1 ? "1 entry" : fmt::format("{} entries", n);
}

std::string plural(std::size_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

void SuiteResults::add(std::size_t program, const Json& record) {
  const std::pair key{record.at("entry").get<std::string>(), program};
  const auto [at, fresh] = lines_.try_emplace(key);
  if (fresh) order_.push_back(key);
  Line& line = at->second;
  if (!record.at("ok").get<bool>()) {
    if (line.error.empty()) line.error = record.at("error").get<std::string>();
    return;
  }
  const bool disturbed = record.at("disturbed").get<bool>();
  for (const auto& [name, value] : record.at("metrics").items()) {
    if (!value.is_number()) continue;
    line.all[name].push_back(value.get<double>());
    if (!disturbed) line.calm[name].push_back(value.get<double>());
  }
}

double SuiteResults::median_of(const Line& line, const std::string& metric) {
  for (const auto* values : {&line.calm, &line.all})
    if (const auto at = values->find(metric); at != values->end())
      return statistics::median(at->second).value_or(kNone);
  return kNone;
}

bool SuiteResults::any_has(const std::string& metric) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const auto& line) { return line.second.all.contains(metric); });
}

std::string SuiteResults::text(const std::vector<SuiteProgram>& programs) const {
  const bool several = programs.size() > 1;
  std::vector<std::string> header = {"entry"};
  std::vector<bool> right = {false};
  std::vector<Column> columns;
  for (const Column& c : kColumns)
    if (c.always || any_has(c.metric)) columns.push_back(c);
  for (const Column& c : columns) {
    header.push_back(c.title);
    right.push_back(true);
  }
  header.push_back(several ? "program" : "");
  right.push_back(false);
  Table table(header, right);
  for (const auto& key : order_) {
    const Line& line = lines_.at(key);
    std::vector<std::string> cells = {key.first};
    for (const Column& c : columns) {
      const double v = median_of(line, c.metric);
      cells.push_back(std::isnan(v) ? "" : fmt::format("{:.{}f}", v, c.digits));
    }
    std::string note = several ? programs[key.second].path : "";
    if (!line.error.empty())
      note += (note.empty() ? "failed: " : " failed: ") + first_line(line.error);
    cells.push_back(note);
    table.row(std::move(cells));
  }
  return order_.empty() ? "" : table.str();
}

Json SuiteResults::json(const std::vector<SuiteProgram>& programs) const {
  Json out = Json::array();
  for (const auto& key : order_) {
    const Line& line = lines_.at(key);
    Json j{{"entry", key.first}, {"program", programs[key.second].path}};
    for (const auto& [metric, values] : line.all) j["metrics"][metric] = median_of(line, metric);
    j["error"] = line.error.empty() ? Json(nullptr) : Json(line.error);
    out.push_back(std::move(j));
  }
  return out;
}

std::string to_text(const SuiteSummary& s) {
  std::string out =
      fmt::format("suite {}, run {}: {}, {} in {:.0f} s\n", s.suite, s.run, entries(s.entries),
                  plural(s.measurements, "measurement"), s.seconds);
  for (const auto& skipped : s.skipped)
    out += fmt::format("skipped {}: {}{}\n", skipped.entry, skipped.reason,
                       skipped.detail.empty() ? "" : " (" + skipped.detail + ")");
  std::string reasons;
  for (const auto& [reason, n] : by_reason(s))
    reasons += fmt::format("{}{} {}", reasons.empty() ? " (" : "; ", n, reason);
  if (!reasons.empty()) reasons += ")";
  if (s.counted > 0) out += fmt::format("instructions of {} counted\n", entries(s.counted));
  out += fmt::format("{} skipped{}, {} disturbed, {} failed\n", s.skipped.size(), reasons,
                     s.disturbed, s.failed);
  return out;
}

Json to_json(const SuiteSummary& s) {
  Json skipped = Json::array();
  for (const auto& one : s.skipped)
    skipped.push_back({{"entry", one.entry}, {"reason", one.reason}, {"detail", one.detail}});
  Json reasons = Json::object();
  for (const auto& [reason, n] : by_reason(s)) reasons[reason] = n;
  return {{"suite", s.suite},
          {"run", s.run},
          {"entries", s.entries},
          {"measurements", s.measurements},
          {"skipped", std::move(skipped)},
          {"skipped_by_reason", std::move(reasons)},
          {"counted", s.counted},
          {"disturbed", s.disturbed},
          {"failed", s.failed},
          {"seconds", s.seconds}};
}

}  // namespace treadle::cli
