// Turns preprocessed Metal source text into what clang's C++ for OpenCL compiles for this machine,
// and finds out what its kernels take. See README.md.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace softmetal {

// What a thread may ask where it is; the order is that of softmetal_positions in msl/language.h.
enum class Position : std::uint8_t {
  ThreadInThreadgroup,
  ThreadgroupInGrid,
  ThreadsPerThreadgroup,
  ThreadgroupsPerGrid,
  ThreadInGrid,
  ThreadsPerGrid,
  ThreadIndexInThreadgroup,
  ThreadIndexInSimdgroup,
  SimdgroupIndexInThreadgroup,
  SimdgroupsPerThreadgroup,
  ThreadsPerSimdgroup,
  DispatchThreadsPerThreadgroup,
};
inline constexpr int kPositions = 12;

struct Parameter {
  enum class Kind : std::uint8_t { Buffer, Threadgroup, Position };
  Kind kind = Kind::Buffer;
  std::string name;
  std::string type;         // as written, with the address space
  std::string pointee;      // of pointers and references
  std::uint32_t index = 0;  // of [[buffer(n)]] or [[threadgroup(n)]]; the Position
  bool writable = false;    // a pointer to what is not const in device memory
  bool reference = false;
  // Of what it points to, 0 and 1 for void; known after compiling.
  std::uint64_t bytes = 0, alignment = 1;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t max_threads = 1024;        // [[max_total_threads_per_threadgroup(n)]]
  std::vector<std::uint64_t> threadgroup;  // bytes of its variables; known after compiling
};

// The text has what Metal or software Metal has not. "program_source:12: …".
struct TranslationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Translation {
  std::vector<Kernel> kernels;
  // The text with the entries softmetal_entry_NAME and softmetal_describe_NAME of every kernel.
  std::string text;
};

// With `only`, the other kernels are left out.
Translation translate(const std::string& preprocessed, const std::string& only = "");

}  // namespace softmetal
