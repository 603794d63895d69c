// Measuring suspects once more.
#pragma once

#include <string>

#include "cli/report_judge.hpp"

namespace treadle::cli::report {

// Runs `command` with the shell when the report has regressions or suspects of one, and judges
// these by what it measured. The command finds in its environment
//   TREADLE_RERUN_ENTRIES  the names of their entries, one a line
//   TREADLE_RERUN_NEW      the file to which it writes the records of the new build
//   TREADLE_RERUN_BASE     the same for the base; without the file the base's first rounds are used
// Its standard output goes to standard error. Throws Error when it fails or leaves no records.
void rerun(Report& report, const Records& base, const std::string& command);

}  // namespace treadle::cli::report
