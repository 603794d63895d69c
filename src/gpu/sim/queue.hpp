// The queue of the sim device: commands are kept, and run when sync() is called.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/threads.hpp"
#include "gpu/command_queue.hpp"
#include "gpu/sim/group.hpp"
#include "gpu/sim/memory.hpp"

namespace treadle::gpu::sim {

struct KernelCall {
  Launch launch;
  alignas(16) std::array<std::byte, kMaxParamBytes> params;
};

class SimQueue final : public CommandQueue<KernelCall> {
 public:
  SimQueue(std::shared_ptr<Memory> memory, const SimOptions& options);
  ~SimQueue() override;

 private:
  void check_bytes(DeviceAddress address, std::size_t bytes, std::string_view user) const override {
    memory_->check_range(address, bytes, user);
  }
  KernelCall call_of(const Launch& launch) override;
  void perform(const Command& command) override { commands_.push_back(command); }
  void finish() override;
  void run(const Command& command);
  void run_call(const KernelCall& call);
  void run_groups(const Launch& launch, const KernelArguments& arguments);
  std::unique_ptr<GroupRunner> take_runner();
  void give_runner(std::unique_ptr<GroupRunner> runner);

  std::shared_ptr<Memory> memory_;
  SimOptions options_;
  std::unique_ptr<Parallel> threads_;  // made by the first launch of many groups
  std::mutex mutex_;
  std::vector<std::unique_ptr<GroupRunner>> runners_;  // those that no thread uses
  std::vector<Command> commands_;
  std::string index_error_;
};

}  // namespace treadle::gpu::sim
