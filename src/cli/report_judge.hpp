// Which changes between two sets of measurements count. docs/benchmarking.md explains the method.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/report_records.hpp"

namespace treadle::cli::report {

enum class Verdict {
  Same,
  Regression,   // confirmed
  Improvement,  // confirmed
  SuspectWorse,
  SuspectBetter,
  Young,   // no history, and of a class that is not judged without
  Listed,  // not judged; `note` says why
};

const char* name_of(Verdict verdict);

// One metric of one series.
struct Row {
  SeriesKey key;
  std::size_t metric = 0;
  double base = 0, now = 0;  // medians over the rounds
  double change = 0;         // now / base - 1; infinite from 0 to more
  double limit = 0;          // what the change had to exceed
  // Standard deviation of the change without a cause, relative; nullopt where it is not known.
  std::optional<double> scatter;
  bool young = true;  // `scatter` is that within the runs, not from day to day
  std::size_t history_runs = 0;
  double pairs = 0;  // part of the pairs of rounds in which the change holds
  Verdict verdict = Verdict::Same;
  std::string note;
  std::vector<double> base_rounds, new_rounds;
  std::vector<std::size_t> runs;   // of the history, indices in its Records::runs
  std::vector<double> run_values;  // their medians
};

struct Report {
  std::vector<Row> rows;  // by metric, then key
  std::vector<SeriesKey> only_base, only_new, no_rounds;
  std::vector<Failure> failures;  // in the new measurements
  std::size_t disturbed_base = 0, disturbed_new = 0, failed_base = 0, failed_new = 0;
  std::size_t history_runs = 0;
  std::string base_commit, new_commit;
  bool rerun = false;
  std::vector<Run> history;

  std::size_t count(Verdict verdict) const;
};

Report compare(const Records& base, const Records& now, const Records& history);

// Judges a suspect (a regression, confirmed or not) once more by the rounds of a repetition.
void confirm(Row& row, const std::vector<double>& base_rounds,
             const std::vector<double>& new_rounds);

// The series of binary sizes: one for an engine and machine, as entries have no part in it.
SeriesKey series_of(const SeriesKey& key, std::size_t metric);
struct Sample {
  std::size_t run = 0;
  double value = 0;
};
// Values by (metric, series), by run; binary sizes are gathered.
using Samples = std::map<std::pair<std::size_t, SeriesKey>, std::vector<Sample>>;
Samples samples_of(const Records& records);
std::vector<double> values_of(const std::vector<Sample>& samples);

}  // namespace treadle::cli::report
