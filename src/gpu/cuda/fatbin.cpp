#include "gpu/cuda/fatbin.hpp"

#include <charconv>

#include "gpu/queue.hpp"

// Written by cmake/cuda.cmake; null at its end. TREADLE_CUDA_ARCHITECTURES is defined for this file
// alone, and only where the fat binaries were built.
#ifdef TREADLE_CUDA_ARCHITECTURES
extern "C" const void* const treadle_cuda_fatbins[];
#endif

namespace treadle::gpu {

std::string_view cuda_architectures() {
#ifdef TREADLE_CUDA_ARCHITECTURES
  return TREADLE_CUDA_ARCHITECTURES;
#else
  return {};
#endif
}

namespace cuda {
namespace {

bool one_runs_on(std::string_view architecture, int major, int minor) {
  const std::size_t underscore = architecture.find('_');
  if (underscore == std::string_view::npos) return false;
  const bool is_text = architecture.substr(0, underscore) == "compute";
  const char* const end = architecture.data() + architecture.size();
  int number = 0;
  const auto [rest, error] = std::from_chars(architecture.data() + underscore + 1, end, number);
  if (error != std::errc{}) return false;
  const int device = major * 10 + minor;
  if (rest != end) return number == device;
  return number <= device && (is_text || number / 10 == major);
}

}  // namespace

std::span<const void* const> embedded_fatbins() {
#ifdef TREADLE_CUDA_ARCHITECTURES
  std::size_t count = 0;
  while (treadle_cuda_fatbins[count]) ++count;
  return {treadle_cuda_fatbins, count};
#else
  return {};
#endif
}

bool runs_on(std::string_view architectures, int major, int minor) {
  while (!architectures.empty()) {
    const std::size_t space = architectures.find(' ');
    if (one_runs_on(architectures.substr(0, space), major, minor)) return true;
    if (space == std::string_view::npos) break;
    architectures.remove_prefix(space + 1);
  }
  return false;
}

}  // namespace cuda
}  // namespace treadle::gpu
