// Measures the entries of a suite with one or more builds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/json.hpp"
#include "cli/suite_manifest.hpp"
#include "cli/suite_plan.hpp"
#include "cli/suite_record.hpp"

namespace treadle::cli {

// What the suite does to the world, so that tests can stand in for it.
struct SuiteHooks {
  std::function<Probe(const std::string& target, int threads)> probe;
  // A record of program `at`, as it is made.
  std::function<void(std::size_t at, const Json& record)> write;
  // Before each turn: how many of how many are done, and what comes.
  std::function<void(std::size_t done, std::size_t all, const std::string& what)> progress;
};

struct SuiteSummary {
  struct Skipped {
    std::string entry, reason, detail;
  };
  std::string run, suite;
  std::size_t entries = 0;       // measured ones
  std::size_t measurements = 0;  // records, repeated ones too
  std::vector<Skipped> skipped;
  std::size_t disturbed = 0;  // records that are
  std::size_t failed = 0;     // records that are not ok
  std::size_t counted = 0;    // entries whose instructions were counted
  double seconds = 0;
};

// The entries whose id contains `only` and that need nothing which is missing; adds the others to
// `skipped`. Throws Parse error when no id does.
std::vector<SuiteEntry> choose(const Suite& suite, const std::string& only,
                               const std::vector<SuiteProgram>& programs,
                               std::vector<SuiteSummary::Skipped>& skipped);

// Whether the suite's instructions are counted for the entry: only those of one thread of the CPU
// are the same in each run.
bool counts_instructions(const Suite& suite, const SuiteEntry& entry);

// An entry that fails is a record with its error, and the suite goes on. Throws only what the hooks
// throw, and Io error when a program cannot be started.
SuiteSummary run_suite(const Suite& suite, const std::string& only,
                       const std::vector<SuiteProgram>& programs, const SuiteHooks& hooks);

// Reason and number of entries.
std::map<std::string, std::size_t> by_reason(const SuiteSummary& summary);

}  // namespace treadle::cli
