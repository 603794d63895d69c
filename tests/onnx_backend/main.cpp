// onnx_backend_runner FOLDER… [--simplified | --session] [--filter TEXT] [--expect FILE [--may
// FILE]]
// [--quiet]
// Runs every test below the folders and prints "PASS|FAIL|UNSUPPORTED name reason" a line. A test
// that crashes or hangs is a FAIL and stops nothing. Exit status 1 when a test fails that FILE does
// not list (name, tab, reason a line), or passes or is missing although it does; those that the
// FILE of --may lists may do both. Without FILE, when one fails.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "onnx_backend/run_case.hpp"

namespace treadle::backend {
namespace {

constexpr int kTimeoutMs = 30'000;
constexpr rlim_t kMemory = rlim_t{8} << 30;

struct Options {
  std::vector<std::string> folders;
  std::string filter, expect, may;
  Path path = Path::Reference;
  Tolerance tolerance;
  bool quiet = false;
};

struct Case {
  std::string name, folder;
};

std::vector<Case> find_cases(const Options& options) {
  std::vector<Case> cases;
  for (const std::string& root : options.folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().filename() != "model.onnx") continue;
      const auto folder = entry.path().parent_path();
      const std::string name = folder.filename();
      if (name.find(options.filter) == std::string::npos) continue;
      cases.push_back({name, folder});
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.folder < b.folder; });
  return cases;
}

const char* text_of(Status s) {
  switch (s) {
    case Status::Pass:
      return "PASS";
    case Status::Fail:
      return "FAIL";
    case Status::Unsupported:
      return "UNSUPPORTED";
  }
  return "";
}

// In the child: one line a finished case.
[[noreturn]] void run_child(const std::vector<Case>& cases, std::size_t from, int out,
                            const Options& options) {
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit limit{kMemory, kMemory};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
  for (std::size_t i = from; i < cases.size(); ++i) {
    Outcome o = run_case(cases[i].folder, options.path, options.tolerance);
    std::replace(o.reason.begin(), o.reason.end(), '\n', ' ');
    const std::string line = fmt::format("{}\t{}\n", static_cast<int>(o.status), o.reason);
    std::size_t done = 0;
    while (done < line.size()) {
      const ssize_t n = ::write(out, line.data() + done, line.size() - done);
      if (n <= 0) ::_exit(2);
      done += static_cast<std::size_t>(n);
    }
  }
  ::_exit(0);
}

class Report {
 public:
  explicit Report(const Options& options) : options_(options) {
    read(options.expect, expected_);
    read(options.may, either_);
  }

  void add(const std::string& name, const Outcome& o) {
    ++counts_[static_cast<std::size_t>(o.status)];
    seen_.insert(name);
    const auto found = expected_.find(name);
    const bool listed = found != expected_.end();
    const bool either = either_.contains(name);
    const bool pass = o.status == Status::Pass;
    const bool wrong =
        options_.expect.empty() ? o.status == Status::Fail : !either && pass == listed;
    wrong_ += wrong;
    if (options_.quiet && !wrong) return;
    std::printf("%s%s %s %s\n", wrong && pass ? "LISTED BUT " : "", text_of(o.status), name.c_str(),
                o.reason.c_str());
  }

  // A listed test that is not there counts as not as expected, unless a filter chose the tests.
  int finish() {
    for (const auto& [name, reason] : expected_) {
      if (!options_.filter.empty() || seen_.contains(name)) continue;
      ++wrong_;
      std::printf("LISTED BUT MISSING %s\n", name.c_str());
    }
    std::printf("%d pass, %d fail, %d unsupported; %d not as expected\n", counts_[0], counts_[1],
                counts_[2], wrong_);
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  using Reasons = std::map<std::string, std::string>;

  static void read(const std::string& path, Reasons& out) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      const std::size_t tab = line.find('\t');
      if (tab == std::string::npos || line[0] == '#') continue;
      out[line.substr(0, tab)] = line.substr(tab + 1);
    }
  }

  const Options& options_;
  Reasons expected_, either_;
  std::set<std::string> seen_;
  int counts_[3] = {};
  int wrong_ = 0;
};

// Reads one line of the child's; false when it ended or said nothing for too long.
bool read_line(int in, std::string& buffer, std::string& line, bool& timed_out) {
  for (;;) {
    const std::size_t end = buffer.find('\n');
    if (end != std::string::npos) {
      line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return true;
    }
    pollfd p{in, POLLIN, 0};
    const int ready = ::poll(&p, 1, kTimeoutMs);
    timed_out = ready == 0;
    if (ready <= 0) return false;
    char chunk[4096];
    const ssize_t n = ::read(in, chunk, sizeof chunk);
    if (n <= 0) return false;
    buffer.append(chunk, static_cast<std::size_t>(n));
  }
}

// Runs cases from `from` in a child; returns the first that has no result yet.
std::size_t run_batch(const std::vector<Case>& cases, std::size_t from, const Options& options,
                      Report& report) {
  std::fflush(stdout);
  int ends[2];
  if (::pipe(ends) != 0) std::exit(2);
  const pid_t child = ::fork();
  if (child < 0) std::exit(2);
  if (child == 0) {
    ::close(ends[0]);
    run_child(cases, from, ends[1], options);
  }
  ::close(ends[1]);
  std::string buffer, line;
  bool timed_out = false;
  std::size_t at = from;
  while (at < cases.size() && read_line(ends[0], buffer, line, timed_out)) {
    report.add(cases[at++].name, {static_cast<Status>(line[0] - '0'), line.substr(2)});
  }
  ::close(ends[0]);
  if (timed_out) ::kill(child, SIGKILL);
  int state = 0;
  ::waitpid(child, &state, 0);
  if (at < cases.size()) {
    report.add(cases[at++].name,
               {Status::Fail,
                timed_out ? "hangs" : fmt::format("crashes with signal {}", WTERMSIG(state))});
  }
  return at;
}

int run(const Options& options) {
  const auto cases = find_cases(options);
  Report report(options);
  std::size_t at = 0;
  while (at < cases.size()) at = run_batch(cases, at, options, report);
  return report.finish();
}

}  // namespace
}  // namespace treadle::backend

int main(int argc, char** argv) {
  using treadle::backend::Path;
  treadle::backend::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const bool more = i + 1 < argc;
    if (a == "--session") {
      options.path = Path::Session;
    } else if (a == "--simplified") {
      options.path = Path::Simplified;
    } else if (a == "--quiet") {
      options.quiet = true;
    } else if (a == "--filter" && more) {
      options.filter = argv[++i];
    } else if (a == "--expect" && more) {
      options.expect = argv[++i];
    } else if (a == "--may" && more) {
      options.may = argv[++i];
    } else if (a == "--rtol" && more) {
      options.tolerance.rtol = std::atof(argv[++i]);
    } else if (a == "--atol" && more) {
      options.tolerance.atol = std::atof(argv[++i]);
    } else {
      options.folders.push_back(a);
    }
  }
  return treadle::backend::run(options);
}
