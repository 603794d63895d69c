#include "fault.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "memory.hpp"

namespace softmetal {

namespace {

thread_local const char* doing_now = nullptr;
struct sigaction before;

void on_fault(int signal, siginfo_t* info, void* context) {
  const std::string what = describe_address(info->si_addr, doing_now);
  if (!what.empty()) fault(what);
  // Not ours.
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(signal, info, context);
    return;
  }
  sigaction(signal, &before, nullptr);
}

// A fault may be that a fiber's stack is full.
struct SignalStack {
  static constexpr std::size_t kBytes = 256 * 1024;
  SignalStack() {
    memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t now;
    now.ss_sp = memory;
    now.ss_size = kBytes;
    now.ss_flags = 0;
    sigaltstack(&now, &old);
  }
  ~SignalStack() {
    sigaltstack(&old, nullptr);
    munmap(memory, kBytes);
  }
  void* memory;
  stack_t old;
};

}  // namespace

void fault(const std::string& what) {
  std::fprintf(stderr, "softmetal: %s\n", what.c_str());
  std::fflush(stderr);
  std::abort();
}

void set_doing(const char* what) {
  doing_now = what;
}

const char* doing() {
  return doing_now;
}

void watch_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
  });
  thread_local SignalStack stack;
  (void)stack;
}

}  // namespace softmetal

#if defined(__SANITIZE_ADDRESS__)
// What the Objective-C runtime and GNUstep keep for the life of the process.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:libobjc.so\nleak:libgnustep-base.so\n";
}
#endif
