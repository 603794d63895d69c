#include "cli/process.hpp"

#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <sys/resource.h>
#else
#include <sched.h>
#endif

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.hpp"

namespace treadle::cli {
namespace {

AllocationCounter counter = nullptr;

constexpr int kMostProcessors = 1024;

#if !defined(__APPLE__)
// A line "Name:   123 kB" of /proc/self/status.
double status_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kb = 0;
  while (status >> word)
    if (word == name && status >> kb) return kb / 1024;
  return 0;
}
#endif

int parse_cpu(std::string_view text, const std::string& list) {
  int cpu = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  check(
      code == std::errc{} && end == text.data() + text.size() && cpu >= 0 && cpu < kMostProcessors,
      ErrorKind::Parse, "--pin '{}': '{}' is no processor number", list, text);
  return cpu;
}

std::vector<int> parse_cpus(const std::string& list) {
  std::vector<int> out;
  std::string_view rest = list;
  do {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto dash = part.find('-');
    const int first = parse_cpu(part.substr(0, dash), list);
    const int last =
        dash == std::string_view::npos ? first : parse_cpu(part.substr(dash + 1), list);
    for (int c = first; c <= last; ++c) out.push_back(c);
  } while (!rest.empty());
  return out;
}

}  // namespace

#if defined(__APPLE__)

double resident_mb() {
  mach_task_basic_info info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  const auto to = reinterpret_cast<task_info_t>(&info);
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, to, &count) != KERN_SUCCESS) return 0;
  return static_cast<double>(info.resident_size) / (1 << 20);
}
// There in bytes, where Linux has KiB.
double peak_resident_mb() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

void pin_to(const std::string& list) {
  parse_cpus(list);
  fail(ErrorKind::Unsupported, "--pin '{}': macOS lets no process choose its processors", list);
}

std::string own_program() {
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  check(_NSGetExecutablePath(path.data(), &size) == 0, ErrorKind::Io,
        "_NSGetExecutablePath: no path of this program");
  path.resize(std::strlen(path.c_str()));
  return path;
}

#else

double resident_mb() {
  return status_mb("VmRSS:");
}
double peak_resident_mb() {
  return status_mb("VmHWM:");
}

void pin_to(const std::string& list) {
  static_assert(kMostProcessors <= CPU_SETSIZE);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int c : parse_cpus(list)) CPU_SET(static_cast<std::size_t>(c), &set);
  check(sched_setaffinity(0, sizeof set, &set) == 0, ErrorKind::Io, "--pin '{}': {}", list,
        std::strerror(errno));
}

// The link rather than what it leads to: a build that replaces the file does not change what runs.
std::string own_program() {
  return "/proc/self/exe";
}

#endif

std::optional<std::int64_t> allocation_count() {
  return counter ? std::optional(counter()) : std::nullopt;
}
void set_allocation_counter(AllocationCounter c) {
  counter = c;
}

}  // namespace treadle::cli
