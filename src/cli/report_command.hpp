// treadle bench report
#pragma once

#include "cli/command.hpp"

namespace treadle::cli::report {

// Below `bench`.
Command add_report(CLI::App& bench);

}  // namespace treadle::cli::report
