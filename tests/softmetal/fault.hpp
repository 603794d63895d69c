// What software Metal says when a program uses Metal, or a kernel uses memory, as it must not.
#pragma once

#include <string>

namespace softmetal {

// Prints "softmetal: WHAT" and aborts, as Apple's validation layer does.
[[noreturn]] void fault(const std::string& what);

// What this thread does now, for faults of memory: "kernel softmax_f32". The text must live until
// it is replaced; null for nothing.
void set_doing(const char* what);
const char* doing();

// Makes a touch of protected memory a fault that names the buffer. Once for the process, and the
// stack that it runs on once for every thread.
void watch_memory();

}  // namespace softmetal
