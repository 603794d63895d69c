#include "command.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "fault.hpp"

namespace softmetal {

namespace {

std::string text(const Size3& s) {
  return std::to_string(s.v[0]) + "x" + std::to_string(s.v[1]) + "x" + std::to_string(s.v[2]);
}

// Calls f(buffer, written) for what the command uses.
template <class F>
void each_buffer(const Command& c, F f) {
  if (c.kind != Command::Kind::Dispatch) {
    for (std::size_t i = 0; i < c.bindings.size(); ++i) {
      f(*c.bindings[i].buffer, i + 1 == c.bindings.size());
    }
    return;
  }
  for (const Parameter& p : c.pipeline->function->kernel.parameters) {
    if (p.kind != Parameter::Kind::Buffer) continue;
    if (const Binding& b = c.bindings[p.index]; b.buffer) f(*b.buffer, p.writable);
  }
}

// What of which commands is watched: buffers that one of them writes, where commands are not all
// kept apart.
class Watch {
 public:
  explicit Watch(const std::vector<Command>& commands) : commands_(commands) {
    bool apart = true;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      names_.push_back(commands[i].describe());
      if (commands[i].since <= i) apart = false;
      each_buffer(commands[i], [this](Buffer& b, bool written) {
        if (written) written_.insert(&b);
      });
    }
    if (apart) written_.clear();
    if (names_.size() > 0xfffe) fault("a command buffer of more than 65534 commands");
    for (Buffer* b : written_) {
      if (b->shadow == nullptr) b->shadow = std::make_unique<Shadow>(b->size());
      b->shadow->clear();
    }
  }
  Access of(std::size_t i) const {
    Access access;
    access.number = static_cast<std::uint16_t>(i + 1);
    access.names = &names_;
    each_buffer(commands_[i], [&](Buffer& b, bool) {
      if (written_.count(&b) == 0) return;
      const auto begin = reinterpret_cast<std::uintptr_t>(b.device());
      access.regions.push_back({&b, begin, begin + b.size(), b.shadow.get(),
                                static_cast<std::uint16_t>(first_of(commands_[i], b))});
    });
    return access;
  }

 private:
  static std::size_t first_of(const Command& c, const Buffer& b) {
    const auto own = c.since_own.find(&b);
    return std::max({c.since, b.tracked ? c.since_tracked : 1,
                     own == c.since_own.end() ? std::size_t{1} : own->second});
  }

  const std::vector<Command>& commands_;
  std::vector<std::string> names_;
  std::set<Buffer*> written_;
};

double seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

std::string Command::describe() const {
  if (kind == Kind::Copy) return "a copy";
  if (kind == Kind::Fill) return "a fill";
  return "kernel " + pipeline->name();
}

void CommandBuffer::check_open(const char* call) const {
  if (state_ != State::Encoding)
    fault(std::string(call) + " after the command buffer was committed");
}

void CommandBuffer::begin_encoder(bool concurrent) {
  check_open("a new encoder");
  if (encoder_open_) fault("a new encoder before endEncoding of the one before it");
  encoder_open_ = true;
  concurrent_ = concurrent;
  since_tracked_ = commands_.size() + 1;
}

void CommandBuffer::end_encoder() {
  check_open("endEncoding");
  if (!encoder_open_) fault("endEncoding for the second time");
  encoder_open_ = false;
}

void CommandBuffer::add(Command command) {
  check_open(command.kind == Command::Kind::Dispatch ? "a dispatch" : "a copy");
  if (!encoder_open_) fault("a command after endEncoding");
  if (!concurrent_) barrier();
  command.since = since_;
  command.since_tracked = since_tracked_;
  command.since_own = since_own_;
  if (command.kind == Command::Kind::Dispatch) check_dispatch(command);
  if (!retains_) each_buffer(command, [](Buffer& b, bool) { ++b.borrowers; });
  commands_.push_back(std::move(command));
}

CommandBuffer::~CommandBuffer() {
  if (retains_ || state_ == State::Completed) return;
  for (const Command& c : commands_) each_buffer(c, [](Buffer& b, bool) { --b.borrowers; });
}

// What Apple's validation layer asserts when a dispatch is encoded.
void CommandBuffer::check_dispatch(const Command& c) const {
  if (c.pipeline == nullptr) fault("a dispatch without setComputePipelineState");
  const Kernel& kernel = c.pipeline->function->kernel;
  const std::string who = "kernel " + kernel.name + ": ";
  const std::uint64_t threads = c.threads.product();
  if (threads == 0 || c.grid.product() == 0) {
    fault(who + "a grid of " + text(c.grid) + " threads in groups of " + text(c.threads));
  }
  if (threads > c.pipeline->max_threads) {
    fault(who + std::to_string(threads) + " threads in a group, more than its " +
          std::to_string(c.pipeline->max_threads) + " (maxTotalThreadsPerThreadgroup)");
  }
  for (std::size_t d = 0; d < 3; ++d) {
    if (c.threads.v[d] > (d == 2 ? 64 : kMaxThreads)) {
      fault(who + "groups of " + text(c.threads) + " threads, more than maxThreadsPerThreadgroup");
    }
    if (c.grid.v[d] > 0xffffffffu) fault(who + "a grid of " + text(c.grid) + " threads");
  }
  std::uint64_t shared = c.pipeline->function->threadgroup_bytes();
  for (const Parameter& p : kernel.parameters) {
    const std::string what = who + "'" + p.name + "' at index " + std::to_string(p.index) + " ";
    if (p.kind == Parameter::Kind::Threadgroup) {
      if (c.threadgroup[p.index] == 0) fault(what + "has no setThreadgroupMemoryLength");
      if (c.threadgroup[p.index] < p.bytes) {
        fault(what + "has " + std::to_string(c.threadgroup[p.index]) +
              " bytes of threadgroup memory, and one element of it takes " +
              std::to_string(p.bytes));
      }
      shared += c.threadgroup[p.index];
    }
    if (p.kind != Parameter::Kind::Buffer) continue;
    if (p.index >= c.bindings.size() || !c.bindings[p.index].bound()) fault(what + "is not bound");
    const Binding& b = c.bindings[p.index];
    const std::uint64_t left = b.buffer ? b.buffer->size() - b.offset : b.bytes.size();
    if (b.buffer == nullptr && p.writable) fault(what + "is written, and bound with setBytes");
    if (b.buffer == nullptr && p.reference && left != p.bytes) {
      fault(what + "is bound with setBytes of " + std::to_string(left) +
            " bytes, and its type has " + std::to_string(p.bytes));
    }
    if (b.offset % p.alignment != 0) {
      fault(what + "is bound at byte " + std::to_string(b.offset) +
            " of its buffer, and its type is aligned to " + std::to_string(p.alignment));
    }
    if (left < p.bytes) {
      fault(what + "is bound to " + std::to_string(left) + " bytes, and its type has " +
            std::to_string(p.bytes));
    }
  }
  if (shared > kMaxThreadgroupBytes) {
    fault(who + std::to_string(shared) + " bytes of threadgroup memory, more than " +
          std::to_string(kMaxThreadgroupBytes));
  }
}

void CommandBuffer::commit(const std::shared_ptr<CommandBuffer>& self) {
  check_open("commit");
  if (encoder_open_) fault("commit before endEncoding");
  state_ = State::Committed;
  watch_memory();
  for (const Command& c : commands_) {
    each_buffer(c, [](Buffer& b, bool written) { b.close(written); });
  }
  queue_->commit(self);
}

void CommandBuffer::wait() {
  if (state_ == State::Encoding) fault("waitUntilCompleted before commit");
  queue_->run(this);
}

void Queue::commit(std::shared_ptr<CommandBuffer> commands) {
  const std::lock_guard lock(mutex_);
  committed_.push_back(std::move(commands));
}

void Queue::run(const CommandBuffer* last) {
  const std::lock_guard lock(mutex_);
  while (last->state() != CommandBuffer::State::Completed) {
    committed_.front()->run_all();
    committed_.pop_front();
  }
}

void CommandBuffer::run_all() {
  watch_memory();
  start_ = seconds();
  const Watch watch(commands_);
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const Access access = watch.of(i);
    run(commands_[i], access.regions.empty() ? nullptr : &access);
  }
  end_ = seconds();
  for (const Command& c : commands_) {
    each_buffer(c, [this](Buffer& b, bool written) {
      b.open(written);
      if (!retains_) --b.borrowers;
    });
  }
  state_ = State::Completed;
  commands_.clear();
}

void CommandBuffer::run(const Command& c, const Access* access) {
  if (c.kind == Command::Kind::Dispatch) {
    run_dispatch(c, access);
  } else {
    char* to = c.bindings.back().buffer->device() + c.bindings.back().offset;
    if (access != nullptr) access->touch(reinterpret_cast<std::uintptr_t>(to), c.bytes, true);
    if (c.kind == Command::Kind::Fill) {
      std::memset(to, c.value, c.bytes);
    } else {
      const char* from = c.bindings[0].buffer->device() + c.bindings[0].offset;
      if (access != nullptr) access->touch(reinterpret_cast<std::uintptr_t>(from), c.bytes, false);
      std::memmove(to, from, c.bytes);
    }
  }
  each_buffer(c, [&c](Buffer& b, bool) { b.check_ends(c.describe()); });
}

}  // namespace softmetal
