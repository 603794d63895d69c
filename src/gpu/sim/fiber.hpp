// A stack of its own on which a function runs until it suspends itself; no operating system
// threads. Known to AddressSanitizer and ThreadSanitizer; to the latter, a switch orders nothing.
#pragma once

#include <cstddef>
#include <memory>

namespace treadle::gpu::sim {

// Used by one OS thread only. The function must not let an exception out.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() calls function(argument). What ran before and is unfinished is dropped,
  // without running destructors.
  void start(void (*function)(void*), void* argument);
  // Runs the function until it suspends or returns.
  void resume();
  // Called by the function: returns from the resume() that runs it.
  void suspend();

 private:
  struct State;
  static void enter();
  std::unique_ptr<State> state_;
};

}  // namespace treadle::gpu::sim
