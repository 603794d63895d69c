// Reading files of measurements (JSON lines, schema 1, as `bench suite` writes them).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/report_metrics.hpp"

namespace treadle::cli::report {

// What makes measurements comparable.
struct SeriesKey {
  std::string engine, entry, target;
  std::int64_t threads = 1;
  std::string precision, machine;
  std::strong_ordering operator<=>(const SeriesKey&) const = default;
};

// "cpu on AMD EPYC 9B45, 2 cores".
std::string device_of(const SeriesKey& key);

struct Run {
  std::string id;
  std::string time;  // of its first measurement
  std::string commit;
};

// One measurement; a metric without a value is NaN, and so is what a disturbance changes of a round
// that was disturbed.
struct Round {
  std::size_t run = 0;  // index in Records::runs
  std::int64_t number = 0;
  bool disturbed = false;
  std::array<double, kMetricCount> values{};
};

struct Failure {
  SeriesKey key;
  std::string error;
};

struct Records {
  std::vector<Run> runs;  // oldest first
  // Rounds that did not fail, oldest first; empty for a series that has none.
  std::map<SeriesKey, std::vector<Round>> series;
  std::size_t disturbed = 0, failed = 0;
  std::vector<Failure> failures;  // the first of each series
};

// What a file may hold. A line, or a file, over a limit is an error.
struct ReadLimits {
  std::size_t line_bytes = std::size_t{1} << 20;
  std::size_t text_bytes = 512;  // of one name
  std::size_t rounds = 500'000;
  std::size_t series = 20'000;
};

// Reads the files as one. Throws Error: Io for what cannot be read, Parse with "file:line" for what
// is no record of schema 1 or is over a limit.
Records read_records(const std::vector<std::string>& paths, const ReadLimits& limits = {});
// All *.jsonl of a folder. Throws Io error when it is none.
Records read_folder(const std::string& folder, const ReadLimits& limits = {});

}  // namespace treadle::cli::report
