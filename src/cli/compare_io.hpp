// Runs a model on reference data and compares its outputs.
#pragma once

#include <string>

#include "api/model.hpp"
#include "cli/compare_report.hpp"

namespace treadle::cli {

// See io_cases.hpp for what the folder holds. A name in the data that is no input cuts the graph
// there, one that is no output becomes an output. A case that cannot be run is a mismatch with the
// error as its note.
CompareReport compare_io(const std::string& path, const std::string& folder,
                         const ModelOptions& options, const Tolerance& tolerance);

}  // namespace treadle::cli
