// In place of gpu/metal where a build has no Metal (TREADLE_METAL in cmake/metal.cmake).
#include "base/error.hpp"
#include "gpu/queue.hpp"

namespace treadle::gpu {

std::shared_ptr<Device> make_metal_device(const MetalOptions&) {
  fail(ErrorKind::Device, "{}", why_no_metal());
}

std::string why_no_metal() {
  return "this build has no Metal: it is made on macOS (TREADLE_METAL)";
}

std::string metal_device_name() {
  return {};
}

}  // namespace treadle::gpu
