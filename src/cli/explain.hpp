// Where each node of a program runs and, on the CPU beside a device, why not there.
#pragma once

#include "cli/json.hpp"
#include "plan/program.hpp"

namespace treadle::cli {

// Device-to-host syncs a run.
std::int64_t planned_syncs(const Program& program);
// A table: node, operator, where, kernel, reason; then totals.
std::string explain_text(const Program& program);
// A list of {"node", "op", "device", "kernel", "why_not"}.
Json explain_json(const Program& program);

}  // namespace treadle::cli
