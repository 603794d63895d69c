// What `bench report` knows of each metric.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace treadle::cli::report {

enum class MetricClass {
  Time,          // of runs
  Rate,          // tokens a second
  Load,          // once a process
  Memory,        // megabytes
  Count,         // the same in each run
  Instructions,  // millions, the same in each run of one build
  Context,       // listed beside another metric, not judged
};

// Whether what else the machine does shows in the values: those of disturbed rounds say nothing
// then.
constexpr bool depends_on_time(MetricClass kind) {
  return kind == MetricClass::Time || kind == MetricClass::Rate || kind == MetricClass::Load ||
         kind == MetricClass::Context;
}

struct Metric {
  const char* name;   // in the records
  const char* title;  // for people
  const char* unit;
  MetricClass kind;
  double floor;             // smallest relative change that counts
  double judged_above = 0;  // values of the base up to this are listed, not judged
  bool higher_is_better = false;
};

inline constexpr Metric kMetrics[] = {
    {"eval_ms", "Run time", "ms", MetricClass::Time, 0.05},
    {"prefill_tps", "Prefill speed", "tokens/s", MetricClass::Rate, 0.03, 0, true},
    {"decode_tps", "Decode speed", "tokens/s", MetricClass::Rate, 0.03, 0, true},
    {"load_ms", "Load time", "ms", MetricClass::Load, 0.05, 30},
    {"ready_ms", "Time until ready", "ms", MetricClass::Load, 0.05, 30},
    {"first_ms", "First run", "ms", MetricClass::Load, 0.05},
    {"rss_ready_mb", "Memory when ready", "MB", MetricClass::Memory, 0.05},
    {"rss_peak_mb", "Memory at its peak", "MB", MetricClass::Memory, 0.05},
    {"device_mb", "Device memory", "MB", MetricClass::Memory, 0.05},
    {"binary_mb", "Binary size", "MB", MetricClass::Memory, 0.05},
    {"copies", "Copies a run", "", MetricClass::Count, 0.05},
    {"syncs", "Syncs a run", "", MetricClass::Count, 0.05},
    {"eval_minstr", "Instructions of a run", "M", MetricClass::Instructions, 0.01},
    {"load_minstr", "Instructions to load", "M", MetricClass::Instructions, 0.01},
    {"ready_minstr", "Instructions until ready", "M", MetricClass::Instructions, 0.01},
    {"first_minstr", "Instructions of the first run", "M", MetricClass::Instructions, 0.01},
    {"eval_min_ms", "Fastest run", "ms", MetricClass::Context, 0.05},
};
inline constexpr std::size_t kMetricCount = std::size(kMetrics);

constexpr std::size_t metric_at(std::string_view name) {
  for (std::size_t i = 0; i < kMetricCount; ++i)
    if (name == kMetrics[i].name) return i;
  return kMetricCount;
}

}  // namespace treadle::cli::report
