#include "cli/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace treadle::cli::report {
namespace {

std::string plural(std::size_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string percent(double part) {
  return fmt::format("{:.{}f} %", part * 100, part < 0.001 ? 2 : 1);
}

void add_sides(std::vector<std::string>& out, std::size_t base, std::size_t now, const char* one,
               const char* many) {
  if (base + now == 0) return;
  out.push_back(fmt::format("{} left out ({} of the base, {} new)", plural(base + now, one, many),
                            base, now));
}

Json key_json(const SeriesKey& key) {
  return {{"engine", key.engine},   {"entry", key.entry},         {"target", key.target},
          {"threads", key.threads}, {"precision", key.precision}, {"machine", key.machine}};
}

Json keys_json(const std::vector<SeriesKey>& keys) {
  Json out = Json::array();
  for (const SeriesKey& k : keys) out.push_back(key_json(k));
  return out;
}

Json row_json(const Row& row) {
  Json j = key_json(row.key);
  j["metric"] = kMetrics[row.metric].name;
  j["unit"] = kMetrics[row.metric].unit;
  j["base"] = row.base;
  j["new"] = row.now;
  // Infinite from 0, which JSON has no number for.
  j["change"] = std::isfinite(row.change) ? Json(row.change) : Json(nullptr);
  j["limit"] = row.limit;
  j["floor"] = kMetrics[row.metric].floor;
  j["scatter"] = row.scatter ? Json(*row.scatter) : Json(nullptr);
  j["young"] = row.young;
  j["history_runs"] = row.history_runs;
  j["rounds"] = {{"base", row.base_rounds.size()}, {"new", row.new_rounds.size()}};
  j["pairs"] = row.pairs;
  j["verdict"] = name_of(row.verdict);
  j["note"] = row.note;
  return j;
}

}  // namespace

std::string title_of(const Report& report) {
  return fmt::format("Bench vs main: {}, {}",
                     plural(report.count(Verdict::Regression), "regression", "regressions"),
                     plural(report.count(Verdict::Improvement), "improvement", "improvements"));
}

std::string value_text(const Metric& metric, double value) {
  const double size = std::abs(value);
  const int digits = size >= 100 || size == std::round(size) ? 1 : size >= 1 ? 2 : 4;
  const bool whole = metric.kind == MetricClass::Count && size == std::round(size);
  return fmt::format("{:.{}f}{}{}", value, whole ? 0 : digits, *metric.unit ? " " : "",
                     metric.unit);
}

std::string change_text(const Row& row) {
  if (!std::isfinite(row.change)) return "from 0";
  return fmt::format("{:+.1f} %", row.change * 100);
}

std::string noise_text(const Row& row) {
  if (row.verdict == Verdict::Young || row.verdict == Verdict::Listed) return row.note;
  const double floor = kMetrics[row.metric].floor;
  const bool instructions = kMetrics[row.metric].kind == MetricClass::Instructions;
  std::string out = row.limit > floor || !row.scatter ? percent(row.limit)
                                                      : fmt::format("floor {:g} %", floor * 100);
  if (!row.scatter)
    out = fmt::format("floor {:g} %, no history", floor * 100);
  else if (row.young)
    out += fmt::format(", 3 × {} within the runs{}", percent(*row.scatter),
                       instructions ? "" : ", no history");
  else
    out += fmt::format(", 3 × {} over {} runs", percent(*row.scatter), row.history_runs);
  if (!row.note.empty()) out += "; " + row.note;
  return out;
}

std::string entry_text(const SeriesKey& key) {
  std::string out = key.entry;
  if (key.engine != "treadle") out += " by " + key.engine;
  if (key.threads > 1) out += fmt::format(", {} threads", key.threads);
  if (!key.precision.empty() && key.precision != "f32") out += ", " + key.precision;
  return out;
}

std::vector<std::string> notes_of(const Report& report) {
  std::vector<std::string> out;
  add_sides(out, report.disturbed_base, report.disturbed_new, "disturbed round",
            "disturbed rounds");
  add_sides(out, report.failed_base, report.failed_new, "failed round", "failed rounds");
  const auto add = [&](std::size_t n, const char* one, const char* many) {
    if (n > 0) out.push_back(plural(n, one, many));
  };
  add(report.count(Verdict::Young),
      "young series listed, not judged (fewer than 5 runs of history)",
      "young series listed, not judged (fewer than 5 runs of history)");
  add(report.only_base.size(), "entry only in the base", "entries only in the base");
  add(report.only_new.size(), "entry only in the new measurements",
      "entries only in the new measurements");
  add(report.no_rounds.size(), "entry without an undisturbed round on a side",
      "entries without an undisturbed round on a side");
  return out;
}

Json to_json(const Report& report) {
  Json j{{"title", title_of(report)},
         {"regressions", report.count(Verdict::Regression)},
         {"improvements", report.count(Verdict::Improvement)},
         {"suspects", report.count(Verdict::SuspectWorse) + report.count(Verdict::SuspectBetter)},
         {"young", report.count(Verdict::Young)},
         {"disturbed", {{"base", report.disturbed_base}, {"new", report.disturbed_new}}},
         {"failed", {{"base", report.failed_base}, {"new", report.failed_new}}},
         {"history_runs", report.history_runs},
         {"rerun", report.rerun},
         {"commits", {{"base", report.base_commit}, {"new", report.new_commit}}},
         {"only_base", keys_json(report.only_base)},
         {"only_new", keys_json(report.only_new)},
         {"no_rounds", keys_json(report.no_rounds)},
         {"failures", Json::array()},
         {"rows", Json::array()}};
  for (const Failure& f : report.failures) {
    Json failure = key_json(f.key);
    failure["error"] = f.error;
    j["failures"].push_back(std::move(failure));
  }
  for (const Row& row : report.rows) j["rows"].push_back(row_json(row));
  return j;
}

}  // namespace treadle::cli::report
