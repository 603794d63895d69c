#include "gpu/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace treadle::gpu::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

std::string dl_text() {
  const char* text = dlerror();
  return text ? text : "no reason given";
}

// Fills `driver`; the reason when a function is missing.
std::string find_functions(void* library, const char* name, Driver& driver) {
#define TREADLE_CUDA_API(member, symbol, parameters)                                  \
  driver.member = reinterpret_cast<decltype(driver.member)>(dlsym(library, #symbol)); \
  if (!driver.member) {                                                               \
    return fmt::format(                                                               \
        "the CUDA driver library {} has no {}: it is older than CUDA 11.8 or "        \
        "not a driver",                                                               \
        name, #symbol);                                                               \
  }
  TREADLE_CUDA_FUNCTIONS
#undef TREADLE_CUDA_API
  return {};
}

}  // namespace

std::string Driver::text_of(Result result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (!error_name || error_name(result, &name) != kSuccess || !name) {
    return fmt::format("CUDA error {}", result);
  }
  if (!error_string || error_string(result, &text) != kSuccess || !text) return name;
  return fmt::format("{}: {}", name, text);
}

DriverOrReason load_driver(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return {nullptr, fmt::format("no CUDA driver on this machine ({})", dl_text()), 0};
  }
  auto driver = std::make_unique<Driver>();
  if (std::string why_not = find_functions(handle, library, *driver); !why_not.empty()) {
    dlclose(handle);
    return {nullptr, std::move(why_not), 0};
  }
  // From here on the library stays: it may have started threads.
  if (const Result result = driver->init(0); result != kSuccess) {
    return {nullptr, fmt::format("the CUDA driver does not start: {}", driver->text_of(result)), 0};
  }
  int devices = 0;
  if (const Result result = driver->device_count(&devices); result != kSuccess) {
    return {nullptr,
            fmt::format("the CUDA driver does not count its devices: {}", driver->text_of(result)),
            0};
  }
  if (devices < 1) {
    return {nullptr, "the CUDA driver sees no device (CUDA_VISIBLE_DEVICES may hide it)", 0};
  }
  return {std::move(driver), {}, devices};
}

const DriverOrReason& driver_or_reason() {
  // Never destroyed: buffers may be freed by the destructors of other static objects.
  static const DriverOrReason& loaded = *new DriverOrReason(load_driver(kLibrary));
  return loaded;
}

}  // namespace treadle::gpu::cuda
