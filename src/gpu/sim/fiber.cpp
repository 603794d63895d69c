#include "gpu/sim/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.hpp"

#if !defined(__x86_64__) && !defined(__aarch64__)
#define TREADLE_FIBER_UCONTEXT
#endif
#if defined(TREADLE_FIBER_UCONTEXT)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
// This file is compiled without ThreadSanitizer also where the rest is under it: cmake says so.
#if defined(TREADLE_TSAN_FIBERS)
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(TREADLE_FIBER_UCONTEXT)
// Saves the registers that a call keeps and the stack pointer to *save, and goes on where `load`
// was saved.
extern "C" void treadle_fiber_swap(void** save, void* load);
#endif
#if defined(__APPLE__)
#define TREADLE_SWAP_BEGIN                          \
  ".text\n.p2align 2\n.globl _treadle_fiber_swap\n" \
  ".private_extern _treadle_fiber_swap\n_treadle_fiber_swap:\n"
#define TREADLE_SWAP_END ""
#else
#define TREADLE_SWAP_BEGIN                         \
  ".text\n.p2align 2\n.globl treadle_fiber_swap\n" \
  ".hidden treadle_fiber_swap\n.type treadle_fiber_swap,%function\ntreadle_fiber_swap:\n"
#define TREADLE_SWAP_END ".size treadle_fiber_swap,.-treadle_fiber_swap\n"
#endif
#if defined(__x86_64__) && !defined(TREADLE_FIBER_UCONTEXT)
asm(TREADLE_SWAP_BEGIN R"(
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)" TREADLE_SWAP_END);
#elif defined(__aarch64__) && !defined(TREADLE_FIBER_UCONTEXT)
asm(TREADLE_SWAP_BEGIN R"(
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)" TREADLE_SWAP_END);
#endif

namespace treadle::gpu::sim {

namespace {
constexpr std::size_t kStackBytes = 64 * 1024;
}

struct Fiber::State {
  char* memory = nullptr;  // a guard page, then the stack
  std::size_t guard = 0;
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
#if defined(TREADLE_FIBER_UCONTEXT)
  ucontext_t inner, outer;
#else
  void* inner = nullptr;
  void* outer = nullptr;
#endif
#if defined(__SANITIZE_ADDRESS__)
  const void* outer_stack = nullptr;
  std::size_t outer_bytes = 0;
#endif
#if defined(TREADLE_TSAN_FIBERS)
  void* tsan = nullptr;
  void* outer_tsan = nullptr;
#endif
  char* stack() const {
    return memory + guard;
  }
};

namespace {
thread_local Fiber* entering = nullptr;
}  // namespace

Fiber::Fiber() : state_(std::make_unique<State>()) {
  state_->guard = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, state_->guard + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, ErrorKind::Memory, "sim: no memory for the stack of a thread");
  mprotect(memory, state_->guard, PROT_NONE);
  state_->memory = static_cast<char*>(memory);
}

Fiber::~Fiber() {
#if defined(TREADLE_TSAN_FIBERS)
  if (state_->tsan != nullptr) __tsan_destroy_fiber(state_->tsan);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(state_->stack(), kStackBytes);
#endif
  munmap(state_->memory, state_->guard + kStackBytes);
}

void Fiber::start(void (*function)(void*), void* argument) {
  State& s = *state_;
  s.function = function;
  s.argument = argument;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(s.stack(), kStackBytes);
#endif
#if defined(TREADLE_TSAN_FIBERS)
  if (s.tsan != nullptr) __tsan_destroy_fiber(s.tsan);
  s.tsan = __tsan_create_fiber(0);
#endif
#if defined(TREADLE_FIBER_UCONTEXT)
  getcontext(&s.inner);
  s.inner.uc_stack.ss_sp = s.stack();
  s.inner.uc_stack.ss_size = kStackBytes;
  s.inner.uc_link = nullptr;
  makecontext(&s.inner, &Fiber::enter, 0);
#elif defined(__x86_64__)
  // As a call leaves the stack: a return address at 16n + 8; below it what the swap pops.
  auto* top = reinterpret_cast<std::uintptr_t*>(s.stack() + kStackBytes);
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(&Fiber::enter);
  for (int i = 0; i < 6; ++i) *--top = 0;
  s.inner = top;
#else
  auto* top = reinterpret_cast<std::uintptr_t*>(s.stack() + kStackBytes) - 20;
  for (int i = 0; i < 20; ++i) top[i] = 0;
  top[11] = reinterpret_cast<std::uintptr_t>(&Fiber::enter);
  s.inner = top;
#endif
}

void Fiber::enter() {
  Fiber* self = entering;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->state_->outer_stack, &self->state_->outer_bytes);
#endif
  self->state_->function(self->state_->argument);
  self->suspend();
}

void Fiber::resume() {
  State& s = *state_;
  entering = this;
#if defined(TREADLE_TSAN_FIBERS)
  s.outer_tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(s.tsan, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, s.stack(), kStackBytes);
#endif
#if defined(TREADLE_FIBER_UCONTEXT)
  swapcontext(&s.outer, &s.inner);
#else
  treadle_fiber_swap(&s.outer, s.inner);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  State& s = *state_;
#if defined(TREADLE_TSAN_FIBERS)
  __tsan_switch_to_fiber(s.outer_tsan, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, s.outer_stack, s.outer_bytes);
#endif
#if defined(TREADLE_FIBER_UCONTEXT)
  swapcontext(&s.inner, &s.outer);
#else
  treadle_fiber_swap(&s.inner, s.outer);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, &s.outer_stack, &s.outer_bytes);
#endif
}

}  // namespace treadle::gpu::sim
