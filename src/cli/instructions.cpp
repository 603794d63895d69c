#include "cli/instructions.hpp"

#include <fmt/format.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define TREADLE_CALLGRIND 1
#else
#define TREADLE_CALLGRIND 0
#endif

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/memory_file.hpp"
#include "cli/suite_child.hpp"

namespace treadle::cli {
namespace {

// What this process was started with.
std::vector<std::string> own_arguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string argument; std::getline(in, argument, '\0');) out.push_back(argument);
  check(!out.empty(), ErrorKind::Io, "/proc/self/cmdline: cannot be read");
  return out;
}

std::string_view after(std::string_view line, std::string_view start) {
  return line.starts_with(start) ? line.substr(start.size()) : std::string_view();
}

// The profile has a part for each phase that ended and one for the end of the process; a part says
// what made callgrind write it before it says what it counted.
std::map<std::string, std::uint64_t> phases_of(const std::string& profile) {
  std::map<std::string, std::uint64_t> out;
  std::istringstream in(profile);
  std::string phase;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("part: ")) phase.clear();
    if (const auto name = after(line, "desc: Trigger: Client Request: "); !name.empty())
      phase = name;
    const auto text = after(line, "totals: ");
    if (text.empty() || phase.empty()) continue;
    std::uint64_t total = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), total);
    check(code == std::errc{}, ErrorKind::Io,
          "--instructions: expected a number of callgrind, got '{}'", line);
    out[phase] += total;
  }
  return out;
}

// The error of the process, which is that of this command.
ErrorKind kind_of(const ChildResult& result) {
  if (result.signal != 0) return ErrorKind::Internal;
  if (result.code == kUnsupported) return ErrorKind::Unsupported;
  return result.code == kBadInput ? ErrorKind::Parse : ErrorKind::Internal;
}

}  // namespace

#if TREADLE_CALLGRIND
bool can_mark_phases() {
  return true;
}
bool under_valgrind() {
  return RUNNING_ON_VALGRIND != 0;
}
void begin_phase() {
  CALLGRIND_START_INSTRUMENTATION;  // nothing where it was started already
  CALLGRIND_ZERO_STATS;
}
void end_phase(const char* name) {
  CALLGRIND_DUMP_STATS_AT(name);
}
#else
bool can_mark_phases() {
  return false;
}
bool under_valgrind() {
  return false;
}
void begin_phase() {}
void end_phase(const char*) {}
#endif

std::string find_valgrind() {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    std::string file = std::string(rest.substr(0, colon)) + "/valgrind";
    if (access(file.c_str(), X_OK) == 0) return file;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  fail(ErrorKind::Unsupported,
       "--instructions: expected valgrind in PATH, got none; it is the Debian package valgrind");
}

PhaseCounts count_phases() {
  check(can_mark_phases(), ErrorKind::Unsupported,
        "--instructions: this build was compiled without valgrind/callgrind.h, of the Debian "
        "package valgrind");
  const MemoryFile profile("profile");
  // The file that runs, also when another lies under its name by now.
  std::vector<std::string> args = {find_valgrind(),
                                   "--quiet",
                                   "--tool=callgrind",
                                   "--vgdb=no",  // it would leave pipes in /tmp when killed
                                   "--instr-atstart=no",
                                   "--combine-dumps=yes",
                                   "--callgrind-out-file=" + profile.path(),
                                   fmt::format("/proc/{}/exe", getpid())};
  const std::vector<std::string> own = own_arguments();
  args.insert(args.end(), own.begin() + 1, own.end());
  // Who started this process is who ends it, and that ends the other.
  constexpr double kNoLimit = 1e9;
  ChildResult result = run_child(args, kNoLimit);
  result.err.resize(std::min(result.err.find('\n'), result.err.size()));  // hints follow
  if (!result.ok()) fail(kind_of(result), "under valgrind: {}", why_failed(result, kNoLimit));
  PhaseCounts counts{phases_of(profile.content()), result.out};
  for (const char* phase : {"load", "ready", "first", "eval"})
    check(counts.instructions.contains(phase), ErrorKind::Io,
          "--instructions: expected a profile of callgrind with the phase '{}', got none", phase);
  return counts;
}

}  // namespace treadle::cli
