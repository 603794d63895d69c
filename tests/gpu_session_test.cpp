// What a session tells its device: places of values only where the device asks for them.
#include "plan/session.hpp"

#include <gtest/gtest.h>

#include "gpu/lower.hpp"
#include "gpu/queue.hpp"
#include "gpu_util.hpp"
#include "ops/unary.hpp"

namespace treadle {
namespace {

// The sim device, counting what its queues are told.
class TellingQueue final : public gpu::Queue {
 public:
  TellingQueue(std::unique_ptr<DeviceQueue> queue, int& told)
      : queue_(std::move(queue)), told_(told) {}
  void upload(DeviceAddress to, const void* from, std::size_t bytes) override {
    queue_->upload(to, from, bytes);
  }
  void download(void* to, DeviceAddress from, std::size_t bytes) override {
    queue_->download(to, from, bytes);
  }
  void work_on(std::span<const DeviceRange> values) override {
    EXPECT_EQ(values.size(), 2u) << "an input and an output";
    ++told_;
  }
  void launch(const gpu::Launch& launch) override {
    dynamic_cast<gpu::Queue&>(*queue_).launch(launch);
  }
  void sync() override { queue_->sync(); }
  void begin_recording() override { queue_->begin_recording(); }
  std::unique_ptr<DeviceRecording> end_recording() override { return queue_->end_recording(); }
  void replay(const DeviceRecording& recording) override { queue_->replay(recording); }
  DeviceCounters counters() const override { return queue_->counters(); }

 private:
  std::unique_ptr<DeviceQueue> queue_;
  int& told_;
};

class TellingDevice final : public Device {
 public:
  TellingDevice(bool orders, int& told) : orders_(orders), told_(told) {}
  std::string_view kind() const override { return sim_->kind(); }
  std::string name() const override { return sim_->name(); }
  DeviceBufferPtr allocate(std::size_t bytes, std::string_view what) override {
    return sim_->allocate(bytes, what);
  }
  std::unique_ptr<StagingBuffer> allocate_staging(std::size_t bytes) override {
    return sim_->allocate_staging(bytes);
  }
  std::unique_ptr<DeviceQueue> make_queue() override {
    return std::make_unique<TellingQueue>(sim_->make_queue(), told_);
  }
  bool separate_buffers() const override { return sim_->separate_buffers(); }
  bool orders_by_values() const override { return orders_; }
  std::size_t bytes_in_use() const override { return sim_->bytes_in_use(); }
  std::size_t peak_bytes() const override { return sim_->peak_bytes(); }

 private:
  std::shared_ptr<Device> sim_ = gpu::make_sim_device();
  bool orders_;
  int& told_;
};

TEST(GpuSession, TellsValuesToDevicesThatOrderByThem) {
  for (const bool orders : {false, true}) {
    Graph g;
    const ValueId x = g.add_source("x", Fact::tensor(DType::F32, {Dim(4), Dim(5)}));
    g.set_outputs({g.add1("exp", make_op<ops::Unary>(ops::UnaryFn::Exp), {x})}, {"y"});
    int told = 0;
    Session session(gpu::lower(std::move(g), {}, std::make_shared<TellingDevice>(orders, told)));
    int queued = 0;
    for (const Step& s : session.program().steps)
      queued += s.queued && !s.op_name.starts_with("Copy");
    ASSERT_EQ(queued, 1);
    const std::vector<Value> in{Value(test::random_tensor(DType::F32, {4, 5}, 1))};
    // Run, record; a replay tells nothing.
    for (int i = 0; i < 4; ++i) ASSERT_FALSE(session.run(in).has_value());
    EXPECT_EQ(told > 0, orders);
    const int before = told;
    ASSERT_FALSE(session.run(in).has_value());
    EXPECT_EQ(told, before);
  }
}

}  // namespace
}  // namespace treadle
