#include "gpu/cuda/stream.hpp"

#include <array>
#include <chrono>
#include <vector>

#include "gpu/reports.hpp"

namespace treadle::gpu::cuda {
namespace {

// How long sync() asks again and again before it lets the thread sleep: waking it costs tens of
// microseconds, a large part of a small model's run.
constexpr std::chrono::milliseconds kSpin{2};

// Page-locked host memory that the device sees.
Reports::Block report_block(const std::shared_ptr<DeviceContext>& context, std::size_t bytes) {
  const std::shared_ptr<void> host(context->allocate_host(bytes),
                                   [context](void* data) { context->free_host(data); });
  Pointer device = 0;
  const ContextScope scope(*context);
  context->check(context->driver().host_device_pointer(&device, host.get(), 0),
                 "looking up page-locked memory");
  return {host, device};
}
Reports reports_of(const std::shared_ptr<DeviceContext>& context) {
  return Reports([context](std::size_t bytes) { return report_block(context, bytes); });
}

// A CUDA graph with what its launches need for as long as it may run.
struct Recorded {
  explicit Recorded(std::shared_ptr<DeviceContext> c)
      : context(std::move(c)), reports(reports_of(context)) {}
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() {
    const ContextScope scope(*context);
    if (exec && scope.entered()) context->driver().graph_exec_destroy(exec);
  }

  std::shared_ptr<DeviceContext> context;
  GraphExec exec = nullptr;
  Reports reports;
  DeviceCounters counters;
};

class Recording : public DeviceRecording {
 public:
  explicit Recording(std::shared_ptr<Recorded> recorded) : recorded_(std::move(recorded)) {}
  const std::shared_ptr<Recorded>& recorded() const { return recorded_; }

 private:
  std::shared_ptr<Recorded> recorded_;
};

class StreamQueue : public Queue {
 public:
  explicit StreamQueue(std::shared_ptr<DeviceContext> context);
  ~StreamQueue() override;
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  void upload(DeviceAddress to, const void* from, std::size_t bytes) override;
  void download(void* to, DeviceAddress from, std::size_t bytes) override;
  void launch(const Launch& launch) override;
  void sync() override;
  void begin_recording() override;
  std::unique_ptr<DeviceRecording> end_recording() override;
  void replay(const DeviceRecording& recording) override;
  DeviceCounters counters() const override { return counters_; }

 private:
  void wait();
  DeviceCounters& counting() { return recording_ ? recording_->counters : counters_; }
  void close() noexcept;

  std::shared_ptr<DeviceContext> context_;
  const Driver& driver_;
  Stream stream_ = nullptr;
  Event event_ = nullptr;
  DeviceCounters counters_;
  Reports reports_;
  // Not null between begin_recording and end_recording.
  std::shared_ptr<Recorded> recording_;
  // Replayed since the last sync, where their kernels may have reported.
  std::vector<std::shared_ptr<Recorded>> replayed_;
  LaunchSpan launches_;
};

StreamQueue::StreamQueue(std::shared_ptr<DeviceContext> context)
    : context_(std::move(context)), driver_(context_->driver()), reports_(reports_of(context_)) {
  const ContextScope scope(*context_);
  scope.required();
  context_->check(driver_.stream_create(&stream_, kStreamNonBlocking), "making a stream");
  const Result result = driver_.event_create(&event_, kEventBlockingSync | kEventDisableTiming);
  if (result != kSuccess) {
    close();
    context_->fail_with(result, "making an event");
  }
}

StreamQueue::~StreamQueue() {
  const ContextScope scope(*context_);
  if (!scope.entered()) return;
  if (recording_) {
    Graph graph = nullptr;
    driver_.capture_end(stream_, &graph);
    if (graph) driver_.graph_destroy(graph);
  }
  // What still runs may write to reports_ and to host memory of the caller.
  driver_.stream_synchronize(stream_);
  close();
}

void StreamQueue::close() noexcept {
  if (event_) driver_.event_destroy(event_);
  if (stream_) driver_.stream_destroy(stream_);
}

void StreamQueue::upload(DeviceAddress to, const void* from, std::size_t bytes) {
  if (bytes > 0) {
    const ContextScope scope(*context_);
    context_->check(driver_.copy_to_device(to, from, bytes, stream_), "copying to the device");
  }
  ++counting().copies_to_device;
  counting().bytes_to_device += static_cast<std::int64_t>(bytes);
}

void StreamQueue::download(void* to, DeviceAddress from, std::size_t bytes) {
  if (bytes > 0) {
    const ContextScope scope(*context_);
    context_->check(driver_.copy_to_host(to, from, bytes, stream_), "copying to the host");
  }
  ++counting().copies_to_host;
  counting().bytes_to_host += static_cast<std::int64_t>(bytes);
}

void StreamQueue::launch(const Launch& launch) {
  check_launch(launch);
  std::array<Pointer, kMaxBuffers + 1> pointers{};
  std::array<void*, kMaxBuffers + 2> arguments{};
  std::size_t count = 0;
  for (; count < static_cast<std::size_t>(launch.buffer_count); ++count) {
    pointers[count] = launch.buffers[count];
    arguments[count] = &pointers[count];
  }
  if (kernel_info(launch.kernel).reports) {
    pointers[count] = (recording_ ? recording_->reports : reports_).take(launch.label);
    arguments[count] = &pointers[count];
    ++count;
  }
  // The driver copies the parameters and does not write to them.
  arguments[count] = const_cast<void*>(launch.params);
  const auto& [g, t] = std::pair(launch.groups, launch.threads);
  const LaunchAttribute overlap{kProgrammaticStreamSerialization, 0, {1}};
  const LaunchConfig config{g.x, g.y, g.z,     t.x,      t.y,
                            t.z, 0,   stream_, &overlap, context_->kernels_wait() ? 1u : 0u};
  const ContextScope scope(*context_);
  const Result result =
      driver_.launch(&config, context_->function(launch.kernel), arguments.data(), nullptr);
  if (result != kSuccess) [[unlikely]] {
    context_->fail_with(
        result, fmt::format("launching {} for {}", kernel_info(launch.kernel).name, launch.label));
  }
  ++counting().launches;
  if (!recording_) launches_.add(launch);
}

void StreamQueue::wait() {
  const auto check = [this](Result result) {
    if (result != kSuccess) [[unlikely]]
      context_->fail_with(result, launches_.waiting());
  };
  check(driver_.event_record(event_, stream_));
  const auto start = std::chrono::steady_clock::now();
  do {
    const Result result = driver_.event_query(event_);
    if (result == kSuccess) return;
    if (result != kNotReady) check(result);
  } while (std::chrono::steady_clock::now() - start < kSpin);
  check(driver_.event_synchronize(event_));
}

void StreamQueue::sync() {
  treadle::check(!recording_, ErrorKind::Device, "CUDA queue: sync() while recording");
  const ContextScope scope(*context_);
  wait();
  ++counters_.syncs;
  launches_.clear();
  std::string text = reports_.collect();
  reports_.release();
  for (const auto& recorded : replayed_) {
    std::string more = recorded->reports.collect();
    if (text.empty()) text = std::move(more);
  }
  replayed_.clear();
  treadle::check(text.empty(), ErrorKind::Device, "{}", text);
}

void StreamQueue::begin_recording() {
  treadle::check(!recording_, ErrorKind::Device, "CUDA queue: already recording");
  auto recorded = std::make_shared<Recorded>(context_);
  const ContextScope scope(*context_);
  // Relaxed: this and other threads may allocate meanwhile.
  context_->check(driver_.capture_begin(stream_, kCaptureRelaxed), "beginning a recording");
  recording_ = std::move(recorded);
}

std::unique_ptr<DeviceRecording> StreamQueue::end_recording() {
  treadle::check(recording_ != nullptr, ErrorKind::Device, "CUDA queue: not recording");
  const std::shared_ptr<Recorded> recorded = std::move(recording_);
  recording_ = nullptr;
  const ContextScope scope(*context_);
  Graph graph = nullptr;
  context_->check(driver_.capture_end(stream_, &graph), "ending a recording");
  const Result result = driver_.graph_instantiate(&recorded->exec, graph, 0);
  driver_.graph_destroy(graph);
  if (result != kSuccess) {
    recorded->exec = nullptr;
    context_->fail_with(result, "making a graph of a recording");
  }
  return std::make_unique<Recording>(recorded);
}

void StreamQueue::replay(const DeviceRecording& recording) {
  treadle::check(!recording_, ErrorKind::Device, "CUDA queue: replay while recording");
  const auto* own = dynamic_cast<const Recording*>(&recording);
  treadle::check(own && own->recorded()->context == context_, ErrorKind::Device,
                 "CUDA queue: a recording of another device");
  const std::shared_ptr<Recorded>& recorded = own->recorded();
  const ContextScope scope(*context_);
  context_->check(driver_.graph_launch(recorded->exec, stream_), "replaying a recording");
  const DeviceCounters& c = recorded->counters;
  counters_.launches += c.launches;
  counters_.copies_to_device += c.copies_to_device;
  counters_.copies_to_host += c.copies_to_host;
  counters_.bytes_to_device += c.bytes_to_device;
  counters_.bytes_to_host += c.bytes_to_host;
  if (!recorded->reports.empty()) replayed_.push_back(recorded);
}

}  // namespace

std::unique_ptr<Queue> make_stream_queue(std::shared_ptr<DeviceContext> context) {
  return std::make_unique<StreamQueue>(std::move(context));
}

}  // namespace treadle::gpu::cuda
