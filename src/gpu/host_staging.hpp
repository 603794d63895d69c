// Staging buffers of devices that copy from any memory of the host.
#pragma once

#include <new>

#include "base/error.hpp"
#include "plan/device.hpp"

namespace treadle::gpu {

class HostStaging final : public StagingBuffer {
 public:
  explicit HostStaging(std::size_t bytes)
      : StagingBuffer(::operator new (bytes, std::align_val_t{64}), bytes) {}
  ~HostStaging() override { ::operator delete (data_, std::align_val_t{64}); }
};

// Throws Memory error that names the device.
inline std::unique_ptr<StagingBuffer> host_staging(std::size_t bytes, std::string_view device) {
  try {
    return std::make_unique<HostStaging>(bytes);
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::Memory, "{}: no memory for a staging buffer of {} bytes", device, bytes);
  }
}

}  // namespace treadle::gpu
