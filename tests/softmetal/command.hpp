// A command buffer: what is encoded is checked at once, and runs when the host waits for it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compile.hpp"
#include "memory.hpp"

namespace softmetal {

inline constexpr std::size_t kBufferSlots = 31;
inline constexpr std::size_t kMaxInlineBytes = 4096;

struct Size3 {
  std::uint64_t v[3] = {1, 1, 1};
  std::uint64_t product() const { return v[0] * v[1] * v[2]; }
};

struct Pipeline {
  std::shared_ptr<Function> function;
  std::uint32_t max_threads = 1024;
  const std::string& name() const { return function->kernel.name; }
};

struct Binding {
  std::shared_ptr<Buffer> buffer;
  std::uint64_t offset = 0;
  std::vector<char> bytes;  // of setBytes
  bool bound() const { return buffer != nullptr || !bytes.empty(); }
};

// One dispatch, copy or fill.
struct Command {
  enum class Kind : std::uint8_t { Dispatch, Copy, Fill };
  Kind kind = Kind::Dispatch;
  std::shared_ptr<Pipeline> pipeline;
  std::vector<Binding> bindings;  // by index; of a copy from, to
  // The first command of the command buffer that may run at the same time as this one, from 1: for
  // all buffers, for those that Metal tracks, and for those that have had a barrier of their own.
  std::size_t since = 1, since_tracked = 1;
  std::map<const Buffer*, std::size_t> since_own;
  std::uint64_t threadgroup[kBufferSlots] = {};
  Size3 grid;     // threads of the dispatch; a multiple of `threads` but for dispatchThreads
  Size3 threads;  // in a group
  std::uint64_t bytes = 0;
  unsigned char value = 0;
  std::string describe() const;
};

class CommandBuffer;

// Runs command buffers in the order of their commits.
class Queue {
 public:
  void commit(std::shared_ptr<CommandBuffer> commands);
  // Runs what is committed up to these.
  void run(const CommandBuffer* last);

 private:
  std::mutex mutex_;
  std::deque<std::shared_ptr<CommandBuffer>> committed_;
};

class CommandBuffer {
 public:
  enum class State : std::uint8_t { Encoding, Committed, Completed };

  // With `retains` false, releasing a buffer that it uses before it has completed is a fault.
  CommandBuffer(std::shared_ptr<Queue> queue, bool retains)
      : queue_(std::move(queue)), retains_(retains) {}
  ~CommandBuffer();
  State state() const { return state_; }

  // One encoder at a time.
  void begin_encoder(bool concurrent);
  void end_encoder();
  void add(Command command);  // checks it
  // For all buffers, or for one.
  void barrier() { since_ = commands_.size() + 1; }
  void barrier(const Buffer& buffer) { since_own_[&buffer] = commands_.size() + 1; }
  void commit(const std::shared_ptr<CommandBuffer>& self);
  void wait();
  // A fault if it takes no more calls.
  void check_open(const char* call) const;
  double start_seconds() const { return start_; }
  double end_seconds() const { return end_; }

 private:
  friend class Queue;
  void check_dispatch(const Command& c) const;
  void run_all();
  void run(const Command& c, const Access* access);

  const std::shared_ptr<Queue> queue_;
  const bool retains_;
  State state_ = State::Encoding;
  bool encoder_open_ = false, concurrent_ = false;
  std::size_t since_ = 1, since_tracked_ = 1;
  std::map<const Buffer*, std::size_t> since_own_;
  std::vector<Command> commands_;
  double start_ = 0, end_ = 0;
};

// See dispatch.cpp. `access` may be null.
void run_dispatch(const Command& c, const Access* access);

}  // namespace softmetal
