#include "cli/report_rerun.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.hpp"

namespace treadle::cli::report {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((fs::temp_directory_path() / "treadle-rerun-XXXXXX").string()) {
    check(::mkdtemp(path_.data()) != nullptr, ErrorKind::Io, "'{}': cannot be made: {}", path_,
          std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// This process's environment and more, in the form that posix_spawn takes.
class Environment {
 public:
  explicit Environment(std::vector<std::string> more) : more_(std::move(more)) {
    for (char** e = environ; *e != nullptr; ++e)
      if (std::string_view(*e).substr(0, 14) != "TREADLE_RERUN_") pointers_.push_back(*e);
    for (std::string& e : more_) pointers_.push_back(e.data());
    pointers_.push_back(nullptr);
  }
  char** data() { return pointers_.data(); }

 private:
  std::vector<std::string> more_;
  std::vector<char*> pointers_;
};

int run_shell(std::string command, Environment environment) {
  std::string shell = "sh", option = "-c";
  char* arguments[] = {shell.data(), option.data(), command.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Standard output is the report's.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  check(error == 0, ErrorKind::Io, "--rerun: /bin/sh cannot be started: {}", std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    check(errno == EINTR, ErrorKind::Io, "--rerun: cannot wait: {}", std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_suspect(const Row& row) {
  return row.verdict == Verdict::Regression || row.verdict == Verdict::SuspectWorse;
}

// The entries whose measurement makes the suspects; for binary sizes any entry does.
std::string entries_of(const Report& report, const Records& base) {
  std::set<std::string> names;
  for (const Row& row : report.rows)
    if (is_suspect(row) && row.key.entry != "(binary)") names.insert(row.key.entry);
  if (names.empty() && !base.series.empty()) names.insert(base.series.begin()->first.entry);
  std::string out;
  for (const std::string& n : names) {
    // A zero byte would end the variable, a line break the name.
    check(n.find_first_of(std::string_view("\0\n", 2)) == std::string::npos, ErrorKind::Parse,
          "--rerun: expected an entry name of one line, got '{}'", n);
    out += (out.empty() ? "" : "\n") + n;
  }
  return out;
}

std::vector<double> values_at(const Samples& samples, const Row& row) {
  const auto it = samples.find({row.metric, row.key});
  return it == samples.end() ? std::vector<double>() : values_of(it->second);
}

}  // namespace

void rerun(Report& report, const Records& base, const std::string& command) {
  if (report.count(Verdict::Regression) + report.count(Verdict::SuspectWorse) == 0) return;
  const TemporaryFolder folder;
  const std::string base_file = folder.file("base.jsonl"), new_file = folder.file("new.jsonl");
  const int code = run_shell(
      command, Environment({"TREADLE_RERUN_ENTRIES=" + entries_of(report, base),
                            "TREADLE_RERUN_BASE=" + base_file, "TREADLE_RERUN_NEW=" + new_file}));
  check(code == 0, ErrorKind::Parse, "--rerun: expected the command to exit with 0, got {}: {}",
        code, command);
  check(fs::exists(new_file), ErrorKind::Parse,
        "--rerun: expected records in the file that TREADLE_RERUN_NEW names, got none: {}",
        command);
  const Samples new_samples = samples_of(read_records({new_file}));
  const Samples base_samples =
      fs::exists(base_file) ? samples_of(read_records({base_file})) : Samples();
  for (Row& row : report.rows) {
    if (!is_suspect(row)) continue;
    const auto again = values_at(base_samples, row);
    confirm(row, again.empty() ? row.base_rounds : again, values_at(new_samples, row));
  }
  report.rerun = true;
}

}  // namespace treadle::cli::report
