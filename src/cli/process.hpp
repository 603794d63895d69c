// This process: memory, processors, time, allocations.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace treadle::cli {

// Resident set now and at its peak, in MiB; 0 where the system does not say.
double resident_mb();
double peak_resident_mb();

// Restricts this process (and threads that it starts later) to processors: "0" or "0,2-3". Throws
// Parse error for malformed text, Io error when the system refuses, Unsupported where it has no
// such call (macOS).
void pin_to(const std::string& list);

// A path of the program that runs. On Linux one that leads to it also when another lies under its
// name by now. Throws Io error when the system does not say.
std::string own_program();

// Calls to the allocator so far; nullopt where they are not counted (sanitizer builds).
std::optional<std::int64_t> allocation_count();
using AllocationCounter = std::int64_t (*)();
void set_allocation_counter(AllocationCounter counter);

class Timer {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace treadle::cli
