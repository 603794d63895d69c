// The file that `treadle bench suite` reads: docs/benchmarking.md describes its keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace treadle::cli {

// Compares the outputs with those of a folder that holds io.json, before the first measurement.
struct SuiteAccuracy {
  std::string io;
  double tolerance = 1e-4, rtol = 1e-4;
};

// One thing to measure. An [[entry]] of the file with lists of targets or threads is several.
struct SuiteEntry {
  std::string id;    // "mnist/cpu-1"
  std::string name;  // "mnist"
  std::string model, format;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, source
  std::vector<std::string> shapes, symbols;                 // "x=1,3,224,224", "batch=4"
  std::optional<std::int64_t> pulse;
  std::string precision = "f32";
  std::string target = "cpu";
  int threads = 1;
  // Tokens that a run reads or makes; 0: this is no language model.
  std::int64_t prefill_tokens = 0, decode_tokens = 0;
  std::optional<SuiteAccuracy> accuracy;
  double seconds = 1, timeout = 120;
  // Why it is not measured; empty: it is. The reason is what skipped entries are counted under,
  // the detail says more.
  std::string skip, skip_detail;
};

struct Suite {
  std::string name;
  int rounds = 3;
  // Whether the instructions of entries on one thread of the CPU are counted as well.
  bool instructions = false;
  std::vector<SuiteEntry> entries;
};

// What takes the place of the file's own values.
struct SuiteOverrides {
  std::optional<double> seconds;
};

// Throws Error (Parse, or Io for a file that is not there) that names file, entry and key.
// "models:…" is below `models_root`; empty: entries that use it are skipped.
Suite read_suite(const std::string& path, const std::string& models_root,
                 const SuiteOverrides& overrides = {});

}  // namespace treadle::cli
