#include "gpu/host_staging.hpp"
#include "gpu/queue.hpp"
#include "gpu/sim/memory.hpp"
#include "gpu/sim/queue.hpp"

namespace treadle::gpu {

namespace {

class SimDevice final : public Device {
 public:
  explicit SimDevice(const SimOptions& options) : options_(options) {}

  std::string_view kind() const override { return "sim"; }
  std::string name() const override { return "simulated GPU"; }
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what) override {
    return memory_->allocate(bytes, what);
  }
  std::unique_ptr<StagingBuffer> allocate_staging(std::size_t bytes) override {
    return host_staging(bytes, "sim");
  }
  std::unique_ptr<DeviceQueue> make_queue() override {
    return std::make_unique<sim::SimQueue>(memory_, options_);
  }
  bool separate_buffers() const override { return true; }
  std::size_t bytes_in_use() const override { return memory_->bytes_in_use(); }
  std::size_t peak_bytes() const override { return memory_->peak_bytes(); }

 private:
  SimOptions options_;
  std::shared_ptr<sim::Memory> memory_ = std::make_shared<sim::Memory>();
};

}  // namespace

std::shared_ptr<Device> make_sim_device(const SimOptions& options) {
  return std::make_shared<SimDevice>(options);
}

}  // namespace treadle::gpu
