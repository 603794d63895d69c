#include "gpu/metal/queue.hpp"

#include <array>
#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "gpu/kernels/copy_params.hpp"
#include "gpu/metal/hazards.hpp"
#include "gpu/metal/reports.hpp"
#include "gpu/prepared.hpp"

namespace treadle::gpu::metal {
namespace {

constexpr std::size_t kParamIndex = 10;  // [[buffer(10)]] of gpu/dialect/metal.hpp
constexpr std::uint32_t kCopyThreads = 256;
constexpr std::size_t kMostCopied = std::size_t{1} << 30;  // elements by one launch

struct Upload {
  const Block* to_block;
  DeviceAddress to;
  const void* from;
  std::size_t bytes;
};
struct Download {
  void* to;
  const Block* from_block;
  DeviceAddress from;
  std::size_t bytes;
};
// All that encoding takes, so that a replay looks nothing up.
struct Call {
  const PipelineObject* pipeline = nullptr;
  bool reports = false;
  Extent3 groups, threads;
  std::size_t buffers = 0;
  std::array<const BufferObject*, kMaxBuffers> objects{};
  std::array<std::size_t, kMaxBuffers> offsets{};
  std::array<Access, kMaxBuffers> accesses{};
  std::size_t param_bytes = 0;
  alignas(16) std::array<std::byte, kMaxParamBytes> params;
  const char* label = "";  // of the caller

  void add(const Block& block, DeviceAddress address, const Access& access) {
    objects[buffers] = block.buffer.get();
    offsets[buffers] = address - block.begin;
    accesses[buffers++] = access;
  }
  void set_params(const void* data, std::size_t bytes) {
    param_bytes = bytes;
    std::memcpy(params.data(), data, bytes);
  }
  std::span<const Access> touched() const { return {accesses.data(), buffers}; }
};
using Command = std::variant<Upload, Download, Call>;

// The commands with their buffers, which must live when it is replayed.
class Recording final : public DeviceRecording {
 public:
  explicit Recording(std::vector<Command> c) : commands(std::move(c)) {}
  std::vector<Command> commands;
};

// Everything between two sync()s goes to one command buffer with one encoder, begun by the first
// launch. Copies need no launch as long as no launch of it touches their bytes: the memory is
// shared. An upload to bytes that an earlier launch uses, and a download of bytes that a later
// command overwrites, are copies on the GPU, from and to a block of their own.
class MetalQueue final : public Queue {
 public:
  explicit MetalQueue(std::shared_ptr<Context> context);
  ~MetalQueue() override;
  MetalQueue(const MetalQueue&) = delete;
  MetalQueue& operator=(const MetalQueue&) = delete;

  void upload(DeviceAddress to, const void* from, std::size_t bytes) override;
  void download(void* to, DeviceAddress from, std::size_t bytes) override;
  void work_on(std::span<const DeviceRange> values) override;
  void launch(const Launch& launch) override;
  void sync() override;
  void begin_recording() override;
  std::unique_ptr<DeviceRecording> end_recording() override;
  void replay(const DeviceRecording& recording) override;
  DeviceCounters counters() const override { return counters_; }

 private:
  // A download that waits for launches.
  struct Waiting {
    void* to;
    BlockPtr block;
    Access from;
  };

  void add(Command command);
  void run(const Upload& upload);
  void run(const Download& download);
  void run(const Call& call);
  void encode(const Call& call);
  void begin_encoding();
  void keep_downloads(const Access& written);
  void copy(const Block& from_block, DeviceAddress from, const Block& to_block, DeviceAddress to,
            std::size_t bytes);
  Access extent_of(DeviceAddress address, const Block& block) const;
  std::string finish();
  void forget();

  std::shared_ptr<Context> context_;
  Owned<QueueObject> queue_;
  Owned<CommandsObject> commands_;
  Owned<EncoderObject> encoder_;           // null, or of commands_
  const PipelineObject* bound_ = nullptr;  // the encoder's pipeline
  Hazards hazards_;
  std::vector<DeviceRange> values_;
  std::vector<Waiting> waiting_;
  std::vector<BlockPtr> blocks_;  // of copies, until the next sync
  Reports reports_;
  DeviceCounters counters_;
  bool recording_ = false;
  std::vector<Command> recorded_;
  // Of the launches since the last sync, for the text of a fault; null: none.
  const char *first_label_ = nullptr, *last_label_ = nullptr;
};

MetalQueue::MetalQueue(std::shared_ptr<Context> context)
    : context_(std::move(context)),
      queue_(new_queue(context_->device.get())),
      reports_(context_->memory) {
  check(queue_ != nullptr, ErrorKind::Device, "Metal device ({}): it gives no command queue",
        context_->facts.name);
}

MetalQueue::~MetalQueue() {
  // An encoder must be ended before it goes; what was not waited for is not run.
  if (encoder_) end_encoding(encoder_.get());
}

void MetalQueue::upload(DeviceAddress to, const void* from, std::size_t bytes) {
  const BlockPtr block = context_->memory->find(to, bytes, "an upload");
  add(Upload{block.get(), to, from, bytes});
}

void MetalQueue::download(void* to, DeviceAddress from, std::size_t bytes) {
  const BlockPtr block = context_->memory->find(from, bytes, "a download");
  add(Download{to, block.get(), from, bytes});
}

void MetalQueue::work_on(std::span<const DeviceRange> values) {
  values_.assign(values.begin(), values.end());
}

// What a launch may touch that is given `address`.
Access MetalQueue::extent_of(DeviceAddress address, const Block& block) const {
  Access a{block.end, block.begin};
  for (const DeviceRange& v : values_) {
    if (address < v.address || address - v.address >= v.bytes) continue;
    a.begin = std::min(a.begin, v.address);
    a.end = std::max(a.end, v.address + v.bytes);
  }
  return a.begin < a.end ? a : Access{block.begin, block.end};
}

void MetalQueue::launch(const Launch& launch) {
  check_launch(launch);
  const KernelInfo& info = kernel_info(launch.kernel);
  Call call;
  call.pipeline = context_->pipelines->get(launch.kernel);
  call.reports = info.reports;
  call.groups = launch.groups;
  call.threads = launch.threads;
  call.label = launch.label;
  call.set_params(launch.params, launch.param_bytes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(launch.buffer_count); ++i) {
    const DeviceAddress address = launch.buffers[i];
    const BlockPtr block = context_->memory->find(address, 0, launch.label);
    Access access = extent_of(address, *block);
    access.writes = (info.written >> i & 1) != 0;
    call.add(*block, address, access);
  }
  add(std::move(call));
}

void MetalQueue::add(Command command) {
  if (recording_) {
    recorded_.push_back(std::move(command));
  } else {
    std::visit([&](const auto& c) { run(c); }, command);
  }
}

void MetalQueue::run(const Upload& upload) {
  ++counters_.copies_to_device;
  counters_.bytes_to_device += static_cast<std::int64_t>(upload.bytes);
  if (upload.bytes == 0) return;
  const Access to{upload.to, upload.to + upload.bytes, true};
  keep_downloads(to);
  if (!hazards_.pending(to)) {
    std::memcpy(device_pointer(upload.to), upload.from, upload.bytes);
    return;
  }
  const BlockPtr block = context_->memory->scratch(upload.bytes, "an upload between launches");
  blocks_.push_back(block);
  std::memcpy(device_pointer(block->begin), upload.from, upload.bytes);
  copy(*block, block->begin, *upload.to_block, upload.to, upload.bytes);
}

void MetalQueue::run(const Download& download) {
  ++counters_.copies_to_host;
  counters_.bytes_to_host += static_cast<std::int64_t>(download.bytes);
  if (download.bytes == 0) return;
  const Access from{download.from, download.from + download.bytes, false};
  if (hazards_.pending(from)) {
    waiting_.push_back({download.to, download.from_block->shared_from_this(), from});
  } else {
    std::memcpy(download.to, device_pointer(download.from), download.bytes);
  }
}

void MetalQueue::run(const Call& call) {
  ++counters_.launches;
  for (const Access& a : call.touched()) {
    if (a.writes) keep_downloads(a);
  }
  if (!first_label_) first_label_ = call.label;
  last_label_ = call.label;
  encode(call);
}

void MetalQueue::begin_encoding() {
  if (encoder_) return;
  commands_ = new_commands(queue_.get());
  if (commands_) encoder_ = new_encoder(commands_.get());
  check(encoder_ != nullptr, ErrorKind::Device, "Metal device ({}): it gives no compute encoder",
        context_->facts.name);
}

void MetalQueue::encode(const Call& call) {
  begin_encoding();
  if (hazards_.conflict(call.touched())) {
    barrier(encoder_.get());
    hazards_.barrier();
  }
  hazards_.add(call.touched());
  if (call.pipeline != bound_) set_pipeline(encoder_.get(), call.pipeline);
  bound_ = call.pipeline;
  std::size_t i = 0;
  for (; i < call.buffers; ++i) {
    set_buffer(encoder_.get(), call.objects[i], call.offsets[i], i);
  }
  if (call.reports) {
    const Reports::Slot slot = reports_.take(call.label);
    set_buffer(encoder_.get(), slot.buffer, slot.offset, i);
  }
  set_bytes(encoder_.get(), call.params.data(), call.param_bytes, kParamIndex);
  const auto& [g, t] = std::pair(call.groups, call.threads);
  dispatch(encoder_.get(), {g.x, g.y, g.z}, {t.x, t.y, t.z});
}

// Before a command overwrites what a download still waits for, the GPU copies that.
void MetalQueue::keep_downloads(const Access& written) {
  for (Waiting& w : waiting_) {
    if (!overlap(w.from, written)) continue;
    const std::size_t bytes = w.from.end - w.from.begin;
    const BlockPtr from =
        std::exchange(w.block, context_->memory->scratch(bytes, "a download between launches"));
    const DeviceAddress start = w.from.begin;
    w.from = {w.block->begin, w.block->begin + bytes, false};
    copy(*from, start, *w.block, w.block->begin, bytes);
  }
}

void MetalQueue::copy(const Block& from_block, DeviceAddress from, const Block& to_block,
                      DeviceAddress to, std::size_t bytes) {
  const std::size_t together = from | to | bytes;
  const bool by16 = together % 16 == 0, by4 = together % 4 == 0;
  const std::size_t unit = by16 ? 16 : by4 ? 4 : 1;
  while (bytes > 0) {
    const std::size_t count = std::min(bytes / unit, kMostCopied), part = count * unit;
    tk::CopyParams p{};
    for (tk::tk_divisor& size : p.size) size = make_divisor(1);
    p.size[0] = make_divisor(static_cast<std::uint32_t>(count));
    p.from_stride[0] = p.to_stride[0] = 1;
    p.count = static_cast<tk::tk_i32>(count);
    p.rank = 1;
    Call call;
    call.pipeline = context_->pipelines->get(by16  ? KernelId::copy_nd_b16
                                             : by4 ? KernelId::copy_nd_b4
                                                   : KernelId::copy_nd_b1);
    call.threads = {kCopyThreads};
    call.groups = {groups_of(static_cast<std::int64_t>(count), kCopyThreads * tk::kCopyPerThread)};
    call.add(from_block, from, {from, from + part, false});
    call.add(to_block, to, {to, to + part, true});
    call.set_params(&p, sizeof p);
    encode(call);
    from += part;
    to += part;
    bytes -= part;
  }
}

void MetalQueue::sync() {
  check(!recording_, ErrorKind::Device, "Metal queue: sync() while recording");
  ++counters_.syncs;
  const std::string fault = finish();
  if (fault.empty()) {
    for (const Waiting& w : waiting_) {
      std::memcpy(w.to, device_pointer(w.from.begin), w.from.end - w.from.begin);
    }
  }
  const std::string report = reports_.collect();
  forget();
  check(fault.empty(), ErrorKind::Device, "{}", fault);
  check(report.empty(), ErrorKind::Device, "{}", report);
  context_->pipelines->save();
}

// Runs what is encoded; what went wrong.
std::string MetalQueue::finish() {
  if (!encoder_) return {};
  end_encoding(encoder_.get());
  encoder_ = nullptr;
  std::string error;
  if (metal::run(commands_.get(), error)) return {};
  return fmt::format(
      "Metal device ({}): waiting for its commands, the first of them for {}, the last for {}: {}",
      context_->facts.name, first_label_, last_label_, error);
}

void MetalQueue::forget() {
  commands_ = nullptr;
  bound_ = nullptr;
  hazards_.clear();
  waiting_.clear();
  blocks_.clear();
  first_label_ = last_label_ = nullptr;
}

void MetalQueue::begin_recording() {
  check(!recording_, ErrorKind::Device, "Metal queue: already recording");
  recording_ = true;
}

std::unique_ptr<DeviceRecording> MetalQueue::end_recording() {
  check(recording_, ErrorKind::Device, "Metal queue: not recording");
  recording_ = false;
  return std::make_unique<Recording>(std::exchange(recorded_, {}));
}

void MetalQueue::replay(const DeviceRecording& recording) {
  check(!recording_, ErrorKind::Device, "Metal queue: replay while recording");
  const auto* own = dynamic_cast<const Recording*>(&recording);
  check(own != nullptr, ErrorKind::Device, "Metal queue: a recording of another device");
  for (const Command& command : own->commands) std::visit([&](const auto& c) { run(c); }, command);
}

}  // namespace

std::unique_ptr<Queue> make_queue(std::shared_ptr<Context> context) {
  return std::make_unique<MetalQueue>(std::move(context));
}

}  // namespace treadle::gpu::metal
