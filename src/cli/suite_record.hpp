// The JSON lines that a suite writes, schema 1.
#pragma once

#include <cstdint>
#include <string>

#include "cli/json.hpp"
#include "cli/suite_manifest.hpp"
#include "cli/suite_plan.hpp"

namespace treadle::cli {

// A build that is measured, by what its `info --json` says.
struct SuiteProgram {
  std::string path;
  double binary_mb = 0;
  std::string version, commit, compiler, flags, isa;
  std::string cpu, gpu;  // gpu: empty without one
  std::int64_t cores = 0;
  std::string why_no_cuda, why_no_metal;  // empty: there is a device, and kernels for it
  bool counts_instructions = false;
};
// Asks the program. Throws Io error when it gives no answer.
SuiteProgram ask_program(const std::string& path);

struct Measurement {
  std::string time;  // when it began
  int round = 0;
  Probe before, after;
  bool disturbed = false;
  std::string error;  // empty: right
  std::string bench;  // what `bench --json` wrote
  // What `bench --json --instructions` wrote; empty where nothing is counted.
  std::string instructions;
};

// `several`: the program is named too, so that builds of one commit can be told apart.
Json to_record(const std::string& run, const std::string& suite, const SuiteEntry& entry,
               const SuiteProgram& program, const Measurement& m, bool several);

// "2026-12-02T08:50:03Z", and "20261202T085003Z-1234" with the number of this process.
std::string time_now();
std::string run_name();

}  // namespace treadle::cli
