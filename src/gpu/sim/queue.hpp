// The queue of the sim device: commands are kept, and run when sync() is called.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "base/threads.hpp"
#include "gpu/queue.hpp"
#include "gpu/sim/group.hpp"
#include "gpu/sim/memory.hpp"

namespace treadle::gpu::sim {

class SimQueue final : public Queue {
 public:
  SimQueue(std::shared_ptr<Memory> memory, const SimOptions& options);
  ~SimQueue() override;

  void upload(DeviceAddress to, const void* from, std::size_t bytes) override;
  void download(void* to, DeviceAddress from, std::size_t bytes) override;
  void launch(const Launch& launch) override;
  void sync() override;
  void begin_recording() override;
  std::unique_ptr<DeviceRecording> end_recording() override;
  void replay(const DeviceRecording& recording) override;
  DeviceCounters counters() const override { return counters_; }

 private:
  struct Upload {
    DeviceAddress to;
    const void* from;
    std::size_t bytes;
  };
  struct Download {
    void* to;
    DeviceAddress from;
    std::size_t bytes;
  };
  struct KernelCall {
    Launch launch;
    alignas(16) std::array<std::byte, kMaxParamBytes> params;
  };
  using Command = std::variant<Upload, Download, KernelCall>;
  class Recording;

  void add(Command command);
  void count(const Command& command);
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
  std::vector<Command> recorded_;
  bool recording_ = false;
  DeviceCounters counters_;
  std::string index_error_;
};

}  // namespace treadle::gpu::sim
