// Runs a program in a process of its own and keeps what it writes.
#pragma once

#include <string>
#include <vector>

namespace treadle::cli {

struct ChildResult {
  bool timed_out = false;
  int code = 0;    // exit code
  int signal = 0;  // that ended it; 0: it exited by itself
  std::string out, err;

  bool ok() const { return !timed_out && signal == 0 && code == 0; }
};

// `args[0]` is the program's path. When `seconds` are over the program and what it started are
// killed. Throws Io error when the program cannot be started.
ChildResult run_child(const std::vector<std::string>& args, double seconds);

// "no answer within 60 s", "killed by signal 11 (Segmentation fault)", "exit code 2: error: …".
std::string why_failed(const ChildResult& result, double seconds);

}  // namespace treadle::cli
