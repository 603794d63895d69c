#include "cli/suite_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "cli/memory_file.hpp"
#include "cli/process.hpp"

namespace treadle::cli {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Between fork and exec: only what is safe there.
[[noreturn]] void become(char* const* argv, int out, int err, int failure) {
  setpgid(0, 0);
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(argv[0], argv);
  const int code = errno;
  if (write(failure, &code, sizeof code) < 0) _exit(126);
  _exit(127);
}

// Becomes readable when the process has ended; −1 where the system has no such thing.
int open_process([[maybe_unused]] pid_t pid) {
#if defined(__linux__)
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
  return -1;
#endif
}

// True when the child has ended before the time is over; it is left to be waited for.
bool ends_within(pid_t pid, double seconds) {
  const Timer timer;
  const Descriptor handle(open_process(pid));
  for (;;) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid)
      return true;
    const double left = seconds * 1000 - timer.ms();
    if (left <= 0) return false;
    if (handle.get() >= 0) {
      pollfd wait{handle.get(), POLLIN, 0};
      poll(&wait, 1, static_cast<int>(std::min(left + 1, 1e8)));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& args, double seconds) {
  // Not pipes: a grandchild that keeps one open would hold us up.
  const MemoryFile out("out"), err("err"), failure("failure");
  std::vector<char*> argv;
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  check(pid >= 0, ErrorKind::Io, "fork: {}", std::strerror(errno));
  if (pid == 0) become(argv.data(), out.fd(), err.fd(), failure.fd());
  setpgid(pid, pid);  // in the child as well: whoever comes first
  ChildResult result;
  result.timed_out = !ends_within(pid, seconds);
  // What it left behind would disturb the next measurement.
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  int code = 0;
  if (pread(failure.fd(), &code, sizeof code, 0) == sizeof code)
    fail(ErrorKind::Io, "{}: cannot be started: {}", args[0], std::strerror(code));
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  result.out = out.content();
  result.err = err.content();
  return result;
}

std::string why_failed(const ChildResult& result, double seconds) {
  std::string what;
  if (result.timed_out)
    what = fmt::format("no answer within {:g} s", seconds);
  else if (result.signal != 0)
    what = fmt::format("killed by signal {} ({})", result.signal, strsignal(result.signal));
  else
    what = fmt::format("exit code {}", result.code);
  constexpr std::size_t kMost = 2000;
  std::string said = result.err.substr(0, kMost);
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  return said.empty() ? what : what + ": " + said;
}

}  // namespace treadle::cli
