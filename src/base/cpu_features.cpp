#include "base/cpu_features.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <fstream>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <immintrin.h>
#define TREADLE_X86 1
#endif

namespace treadle {
namespace {

constexpr int kNoCap = -1;

std::atomic<int>& cap() {
  static std::atomic<int> value{kNoCap};
  return value;
}

Isa detect() {
#if defined(TREADLE_X86)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return Isa::Avx512;
  return avx2 ? Isa::Avx2 : Isa::Generic;
#elif defined(__ARM_NEON)
  return Isa::Neon;
#else
  return Isa::Generic;
#endif
}

// The instruction set named by TREADLE_ISA; kNoCap when unset or unknown.
int cap_from_environment() {
  const char* text = std::getenv("TREADLE_ISA");
  if (text == nullptr) return kNoCap;
  for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512, Isa::Neon}) {
    if (name_of(isa) == text) return static_cast<int>(isa);
  }
  return kNoCap;
}

// `isa` if this machine can run it, else the best that it can below it.
Isa capped(Isa best, int limit) {
  if (limit == kNoCap) return best;
  const Isa wanted = static_cast<Isa>(limit);
  if (best == Isa::Neon || wanted == Isa::Neon) {
    return wanted == Isa::Generic ? Isa::Generic : best;
  }
  return std::min(best, wanted);
}

std::int64_t cache_bytes([[maybe_unused]] int name, std::int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<std::int64_t>(bytes) : fallback;
}

CacheSizes read_cache_sizes() {
  CacheSizes sizes;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  sizes.l1 = std::max<std::int64_t>(cache_bytes(_SC_LEVEL1_DCACHE_SIZE, sizes.l1), 16 << 10);
  sizes.l2 = std::max<std::int64_t>(cache_bytes(_SC_LEVEL2_CACHE_SIZE, sizes.l2), 128 << 10);
  sizes.l3 = std::max<std::int64_t>(cache_bytes(_SC_LEVEL3_CACHE_SIZE, sizes.l3), sizes.l2);
#endif
  return sizes;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::Generic:
      return "generic";
    case Isa::Avx2:
      return "avx2";
    case Isa::Avx512:
      return "avx512";
    case Isa::Neon:
      return "neon";
  }
  return "unknown";
}

Isa detected_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa active_isa() {
  static const int environment = cap_from_environment();
  return capped(capped(detected_isa(), environment), cap().load(std::memory_order_relaxed));
}

void cap_isa(Isa isa) {
  cap().store(static_cast<int>(isa), std::memory_order_relaxed);
}

bool has_avx512_vnni() {
#if defined(TREADLE_X86)
  return detected_isa() == Isa::Avx512 && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

bool has_avx_vnni() {
#if defined(TREADLE_X86)
  // Leaf 7, subleaf 1, EAX bit 4; not every compiler knows a name for it. Virtual machines are slow
  // to answer.
  static const bool found = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 4) != 0;
  }();
  return found && detected_isa() >= Isa::Avx2;
#else
  return false;
#endif
}

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes = read_cache_sizes();
  return sizes;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::size_t begin = colon + 1;
    while (begin < line.size() && std::isspace(static_cast<unsigned char>(line[begin]))) ++begin;
    return line.substr(begin);
  }
  return {};
}

std::uint64_t fp_control() {
#if defined(TREADLE_X86)
  return _mm_getcsr();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

void set_fp_control([[maybe_unused]] std::uint64_t value) {
#if defined(TREADLE_X86)
  _mm_setcsr(static_cast<unsigned>(value));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(value));
#endif
}

FlushDenormals::FlushDenormals() : saved_(fp_control()) {
#if defined(TREADLE_X86)
  constexpr std::uint64_t kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  set_fp_control(saved_ | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  constexpr std::uint64_t kFlushToZero = std::uint64_t{1} << 24;
  set_fp_control(saved_ | kFlushToZero);
#endif
}

FlushDenormals::~FlushDenormals() {
  set_fp_control(saved_);
}

}  // namespace treadle
