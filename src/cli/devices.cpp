#include "cli/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "gpu/cuda/device.hpp"
#include "gpu/queue.hpp"

namespace treadle::cli {
namespace {

// The names, or why there are none.
std::pair<std::vector<std::string>, std::string> cuda_devices() {
  std::string why = gpu::why_no_cuda();
  if (!why.empty()) return {{}, std::move(why)};
  try {
    return {gpu::cuda::device_names(), {}};
  } catch (const Error& e) {
    return {{}, e.what()};
  }
}

}  // namespace

Json devices_json() {
  const auto [names, why] = cuda_devices();
  return {{"cuda",
           {{"devices", names},
            {"why_not", why},
            {"architectures", std::string(gpu::cuda_architectures())}}},
          {"sim", {{"devices", {"kernels of the GPU as C++ on this processor, for tests"}}}}};
}

std::string cuda_line() {
  const auto [names, why] = cuda_devices();
  const std::string built = gpu::cuda_architectures().empty()
                                ? ""
                                : fmt::format("; kernels for {}", gpu::cuda_architectures());
  if (!why.empty()) return fmt::format("none: {}{}", why, built);
  return fmt::format("{}{}", fmt::join(names, ", "), built);
}

}  // namespace treadle::cli
