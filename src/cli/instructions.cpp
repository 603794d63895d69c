#include "cli/instructions.hpp"

#include <fmt/format.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define TREADLE_CALLGRIND 1
#else
#define TREADLE_CALLGRIND 0
#endif

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/suite_child.hpp"
#include "cli/temporary_folder.hpp"

namespace treadle::cli {
namespace {

namespace fs = std::filesystem;

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

// Adds the profile's phase and count; that of the end of the process has no phase.
void read_profile(const std::string& path, PhaseCounts& counts) {
  std::ifstream in(path);
  std::string phase;
  std::uint64_t total = 0;
  bool found = false;
  for (std::string line; std::getline(in, line);) {
    if (const auto name = after(line, "desc: Trigger: Client Request: "); !name.empty())
      phase = name;
    if (const auto text = after(line, "totals: "); !text.empty())
      found = std::from_chars(text.data(), text.data() + text.size(), total).ec == std::errc{};
  }
  check(found, ErrorKind::Io, "{}: expected a profile of callgrind with its totals, got none",
        path);
  if (!phase.empty()) counts.instructions[phase] += total;
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
    const std::string file = std::string(rest.substr(0, colon)) + "/valgrind";
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
  const TemporaryFolder folder("instructions");
  // The file that runs, also when another lies under its name by now.
  std::vector<std::string> args = {find_valgrind(),
                                   "--quiet",
                                   "--tool=callgrind",
                                   "--instr-atstart=no",
                                   "--callgrind-out-file=" + folder.file("profile"),
                                   fmt::format("/proc/{}/exe", getpid())};
  const std::vector<std::string> own = own_arguments();
  args.insert(args.end(), own.begin() + 1, own.end());
  // Who started this process is who ends it, and that ends the other.
  constexpr double kNoLimit = 1e9;
  const ChildResult result = run_child(args, kNoLimit);
  if (!result.ok()) fail(kind_of(result), "under valgrind: {}", why_failed(result, kNoLimit));
  PhaseCounts counts;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    read_profile(entry.path().string(), counts);
  counts.out = result.out;
  return counts;
}

}  // namespace treadle::cli
