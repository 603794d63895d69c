// Instructions that a process executes, counted by callgrind, a tool of valgrind. Unlike the time
// that they take, their number does not depend on what else the machine does.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace treadle::cli {

// Whether this build can mark the phases of a run for callgrind: it was compiled with valgrind's
// header.
bool can_mark_phases();
// Whether valgrind runs this process; always false in a build that cannot mark phases.
bool under_valgrind();

// Begins to count, from 0. Nothing when valgrind does not run this process, like end_phase().
void begin_phase();
// What was counted since begin_phase() or the last end_phase() is of the phase of that name, which
// has the sum when several have it. Begins to count again.
void end_phase(const char* name);

struct PhaseCounts {
  std::map<std::string, std::uint64_t> instructions;  // by phase
  std::string out;                                    // what the process wrote
};
// Runs this process's own command line once more, under callgrind. Throws Unsupported when valgrind
// is not installed or this build cannot mark phases, and what the process failed with.
PhaseCounts count_phases();

// The path of valgrind, looked for in PATH. Throws Unsupported when it is not there.
std::string find_valgrind();

}  // namespace treadle::cli
