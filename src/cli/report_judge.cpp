#include "cli/report_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cli/statistics.hpp"

namespace treadle::cli::report {
namespace {

using statistics::logarithms;
using statistics::median;

// Older runs say little about the machine and the tests of today.
constexpr std::size_t kHistoryRuns = 30;
constexpr std::size_t kFewestRounds = 2;       // on each side, to confirm
constexpr std::size_t kFewestYoungRounds = 3;  // on each side, to judge without a history
constexpr double kScatters = 3;

double change_of(double base, double now) {
  if (base > 0) return now / base - 1;
  return now > 0 ? std::numeric_limits<double>::infinity() : 0;
}

bool is_worse(const Metric& metric, double change) {
  return metric.higher_is_better ? change < 0 : change > 0;
}

// Whether a step from one value to another exceeds the floor and the noise.
bool exceeds(const Row& row, double base, double now) {
  if (base <= 0 || now <= 0) return base != now;
  return std::abs(change_of(base, now)) > kMetrics[row.metric].floor &&
         std::abs(std::log(now / base)) > kScatters * row.scatter.value_or(0);
}

double limit_of(const Row& row) {
  const Metric& metric = kMetrics[row.metric];
  const double noise = kScatters * row.scatter.value_or(0);
  const bool down = row.change < 0;
  return std::max(metric.floor, down ? -std::expm1(-noise) : std::expm1(noise));
}

// The part of pairs of rounds that show the change of the medians, in its direction and size.
double pairs_of(const Row& row) {
  return statistics::part_of_pairs(row.base_rounds, row.new_rounds, [&](double b, double n) {
    return (n > b) == (row.now > row.base) && exceeds(row, b, n);
  });
}

bool judged_young(MetricClass kind) {
  return kind == MetricClass::Time || kind == MetricClass::Rate || kind == MetricClass::Count;
}

std::size_t fewest_rounds(const Row& row) {
  return std::min(row.base_rounds.size(), row.new_rounds.size());
}

Verdict verdict_of(const Row& row, bool moved) {
  const bool worse = is_worse(kMetrics[row.metric], row.change);
  if (!moved) return Verdict::Same;
  const bool sure = fewest_rounds(row) >= kFewestRounds && row.pairs > 0.5;
  if (sure) return worse ? Verdict::Regression : Verdict::Improvement;
  return worse ? Verdict::SuspectWorse : Verdict::SuspectBetter;
}

void listed(Row& row, std::string why) {
  row.verdict = Verdict::Listed;
  row.note = std::move(why);
}

void set_medians(Row& row) {
  row.base = *median(row.base_rounds);
  row.now = *median(row.new_rounds);
  row.change = change_of(row.base, row.now);
}

// Only what the rounds of both sides show beyond doubt.
void judge_by_rounds(Row& row) {
  row.scatter =
      statistics::pooled_deviation(logarithms(row.base_rounds), logarithms(row.new_rounds));
  row.pairs = pairs_of(row);
  row.verdict = verdict_of(row, exceeds(row, row.base, row.now) &&
                                    statistics::separated(row.base_rounds, row.new_rounds));
}

// The history of a count of instructions has the changes of the code and no noise: it is not asked.
void judge_instructions(Row& row) {
  row.young = true;
  if (fewest_rounds(row) < kFewestRounds)
    listed(row, fmt::format("fewer than {} rounds", kFewestRounds));
  else
    judge_by_rounds(row);
}

void judge_young(Row& row) {
  const Metric& metric = kMetrics[row.metric];
  if (!judged_young(metric.kind)) {
    row.verdict = Verdict::Young;
    row.note = "no history";
  } else if (fewest_rounds(row) < kFewestYoungRounds) {
    row.verdict = Verdict::Young;
    row.note = fmt::format("no history, fewer than {} rounds", kFewestYoungRounds);
  } else {
    judge_by_rounds(row);
  }
}

void judge_old(Row& row) {
  row.young = false;
  row.pairs = pairs_of(row);
  row.verdict = verdict_of(row, exceeds(row, row.base, row.now));
}

void judge(Row& row) {
  const Metric& metric = kMetrics[row.metric];
  set_medians(row);
  if (metric.kind == MetricClass::Context) {
    listed(row, "beside eval_ms");
  } else if (metric.judged_above > 0 && row.base <= metric.judged_above) {
    listed(row, fmt::format("judged above {:g} {}", metric.judged_above, metric.unit));
  } else if (row.base <= 0 && metric.kind != MetricClass::Count) {
    listed(row, "base is 0");
  } else if (metric.kind == MetricClass::Instructions) {
    judge_instructions(row);
  } else if (row.scatter) {
    judge_old(row);
  } else {
    judge_young(row);
  }
  row.limit = limit_of(row);
}

// One value a run, for the last runs.
void set_history(Row& row, const std::vector<Sample>& samples,
                 const std::set<std::size_t>& left_out) {
  for (auto at = samples.begin(); at != samples.end();) {
    const auto end =
        std::find_if(at, samples.end(), [&](const Sample& s) { return s.run != at->run; });
    if (!left_out.contains(at->run)) {
      row.runs.push_back(at->run);
      row.run_values.push_back(*median(values_of({at, end})));
    }
    at = end;
  }
  const std::size_t used = std::min(row.run_values.size(), kHistoryRuns);
  row.history_runs = used;
  // Counts may be 0: then they have no relative scatter, and are judged as the young are.
  row.scatter = statistics::scatter_of_steps(logarithms(std::span(row.run_values).last(used)));
}

// Runs of the history that are the new measurements: they would hide their own change.
std::set<std::size_t> runs_of_both(const Records& history, const Records& now) {
  std::set<std::string_view> ids;
  for (const Run& r : now.runs) ids.insert(r.id);
  std::set<std::size_t> out;
  for (std::size_t i = 0; i < history.runs.size(); ++i)
    if (ids.contains(history.runs[i].id)) out.insert(i);
  return out;
}

bool any_undisturbed(const std::vector<Round>& rounds) {
  return std::any_of(rounds.begin(), rounds.end(), [](const Round& r) { return !r.disturbed; });
}

void list_series(const Records& base, const Records& now, Report& out) {
  for (const auto& [key, rounds] : base.series) {
    const auto other = now.series.find(key);
    if (other == now.series.end())
      out.only_base.push_back(key);
    else if (!any_undisturbed(rounds) || !any_undisturbed(other->second))
      out.no_rounds.push_back(key);
  }
  for (const auto& [key, rounds] : now.series)
    if (!base.series.contains(key)) out.only_new.push_back(key);
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Same:
      return "same";
    case Verdict::Regression:
      return "regression";
    case Verdict::Improvement:
      return "improvement";
    case Verdict::SuspectWorse:
      return "suspect, worse";
    case Verdict::SuspectBetter:
      return "suspect, better";
    case Verdict::Young:
      return "young";
    case Verdict::Listed:
      return "listed";
  }
  return "";
}

std::size_t Report::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& r) { return r.verdict == verdict; }));
}

SeriesKey series_of(const SeriesKey& key, std::size_t metric) {
  if (metric != metric_at("binary_mb")) return key;
  return {key.engine, "(binary)", "all targets", 0, "", key.machine};
}

Samples samples_of(const Records& records) {
  Samples out;
  for (const auto& [key, rounds] : records.series)
    for (std::size_t m = 0; m < kMetricCount; ++m)
      for (const Round& r : rounds)
        if (!std::isnan(r.values[m])) out[{m, series_of(key, m)}].push_back({r.run, r.values[m]});
  for (auto& [key, samples] : out)
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.run < b.run; });
  return out;
}

std::vector<double> values_of(const std::vector<Sample>& samples) {
  std::vector<double> out;
  out.reserve(samples.size());
  for (const Sample& s : samples) out.push_back(s.value);
  return out;
}

void confirm(Row& row, const std::vector<double>& base_rounds,
             const std::vector<double>& new_rounds) {
  if (new_rounds.empty() || base_rounds.empty()) {
    row.verdict = Verdict::SuspectWorse;
    row.note = "not measured again";
    return;
  }
  Row again = row;
  again.base_rounds = base_rounds;
  again.new_rounds = new_rounds;
  if (again.young) again.scatter.reset();
  again.note.clear();
  judge(again);
  row.pairs = again.pairs;
  const bool again_worse = again.verdict == Verdict::Regression;
  row.verdict = again_worse ? Verdict::Regression : Verdict::SuspectWorse;
  row.note = fmt::format("{:+.1f} % when run again", again.change * 100);
}

Report compare(const Records& base, const Records& now, const Records& history) {
  Report out;
  list_series(base, now, out);
  out.failures = now.failures;
  out.disturbed_base = base.disturbed, out.disturbed_new = now.disturbed;
  out.failed_base = base.failed, out.failed_new = now.failed;
  out.history_runs = history.runs.size();
  out.history = history.runs;
  if (!base.runs.empty()) out.base_commit = base.runs.back().commit;
  if (!now.runs.empty()) out.new_commit = now.runs.back().commit;
  const std::set<std::size_t> left_out = runs_of_both(history, now);
  const Samples base_samples = samples_of(base), new_samples = samples_of(now),
                past = samples_of(history);
  for (const auto& [at, samples] : new_samples) {
    const auto before = base_samples.find(at);
    if (before == base_samples.end()) continue;
    Row row;
    row.metric = at.first;
    row.key = at.second;
    row.base_rounds = values_of(before->second);
    row.new_rounds = values_of(samples);
    if (const auto old = past.find(at); old != past.end()) set_history(row, old->second, left_out);
    judge(row);
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace treadle::cli::report
