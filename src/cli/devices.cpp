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

std::vector<std::string> metal_devices() {
  if (!gpu::why_no_metal().empty()) return {};
  return {gpu::metal_device_name()};
}

}  // namespace

Json devices_json() {
  const auto [names, why] = cuda_devices();
  return {{"cuda",
           {{"devices", names},
            {"why_not", why},
            {"architectures", std::string(gpu::cuda_architectures())}}},
          {"metal", {{"devices", metal_devices()}, {"why_not", gpu::why_no_metal()}}},
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

std::string metal_line() {
  const std::string why = gpu::why_no_metal();
  return why.empty() ? gpu::metal_device_name() : "none: " + why;
}

}  // namespace treadle::cli
