// What the processor can do, and what treadle is allowed to use of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace treadle {

enum class Isa : std::uint8_t { Generic, Avx2, Avx512, Neon };

std::string_view name_of(Isa isa);

// The best instruction set that this machine has (AVX2 asks for FMA and F16C too, AVX-512 for
// F, BW, DQ and VL, and that the operating system saves the registers).
Isa detected_isa();
// The instruction set in use: detected_isa() capped by cap_isa() or by the environment variable
// TREADLE_ISA (generic|avx2|avx512|neon), read once.
Isa active_isa();
// Caps the instruction set; to be called before the first model is lowered.
void cap_isa(Isa isa);

// Whether the processor multiplies and adds groups of four bytes (VNNI), in AVX-512 and in AVX
// registers. Not part of any Isa.
bool has_avx512_vnni();
bool has_avx_vnni();

// Cache sizes in bytes of the core that runs this, with sane defaults where the system is silent.
struct CacheSizes {
  std::int64_t l1 = 32 << 10;
  std::int64_t l2 = 512 << 10;
  std::int64_t l3 = 8 << 20;
};
const CacheSizes& cache_sizes();

// "AMD EPYC 7B13" or the like, empty when unknown.
std::string cpu_name();

// The calling thread's floating-point control register (rounding, denormals); 0 where there is
// none.
std::uint64_t fp_control();
void set_fp_control(std::uint64_t value);

// Flushes denormals to zero while it lives and restores the caller's floating-point state.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  std::uint64_t saved_ = 0;
};

}  // namespace treadle
