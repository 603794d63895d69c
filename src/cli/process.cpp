#include "cli/process.hpp"

#include <sched.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/error.hpp"

namespace treadle::cli {
namespace {

AllocationCounter counter = nullptr;

// A line "Name:   123 kB" of /proc/self/status.
double status_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kb = 0;
  while (status >> word)
    if (word == name && status >> kb) return kb / 1024;
  return 0;
}

int parse_cpu(std::string_view text, const std::string& list) {
  int cpu = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  check(code == std::errc{} && end == text.data() + text.size() && cpu >= 0 && cpu < CPU_SETSIZE,
        ErrorKind::Parse, "--pin '{}': '{}' is no processor number", list, text);
  return cpu;
}

}  // namespace

double resident_mb() {
  return status_mb("VmRSS:");
}
double peak_resident_mb() {
  return status_mb("VmHWM:");
}

void pin_to(const std::string& list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string_view rest = list;
  do {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto dash = part.find('-');
    const int first = parse_cpu(part.substr(0, dash), list);
    const int last =
        dash == std::string_view::npos ? first : parse_cpu(part.substr(dash + 1), list);
    for (int c = first; c <= last; ++c) CPU_SET(static_cast<std::size_t>(c), &set);
  } while (!rest.empty());
  check(sched_setaffinity(0, sizeof set, &set) == 0, ErrorKind::Io, "--pin '{}': {}", list,
        std::strerror(errno));
}

std::optional<std::int64_t> allocation_count() {
  return counter ? std::optional(counter()) : std::nullopt;
}
void set_allocation_counter(AllocationCounter c) {
  counter = c;
}

}  // namespace treadle::cli
