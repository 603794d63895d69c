#include "plan/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <list>
#include <map>

#include "base/cpu_features.hpp"
#include "graph/evaluate.hpp"
#include "plan/binding.hpp"
#include "plan/eval_step.hpp"
#include "plan/session_device.hpp"
#include "tensor/limit.hpp"

namespace treadle {
namespace {

std::size_t u(int i) {
  return static_cast<std::size_t>(i);
}

// A tensor over memory that the session owns; making one does not allocate.
Tensor borrow(const TensorView& v) {
  return Tensor(v.dtype, v.shape, v.data,
                std::shared_ptr<const void>(std::shared_ptr<void>(), v.data ? v.data : &kMaxRank));
}

}  // namespace

struct Session::Impl final : StepHost {
  std::shared_ptr<const Program> program;
  std::unique_ptr<Parallel> own_parallel;
  Parallel* parallel = nullptr;
  SymbolValues fixed_symbols, known_symbols;
  StepObserver observer;

  // One a value of the program; pointers to them are held by bound steps.
  std::vector<TensorView> views;
  std::vector<Value> owned;
  std::vector<DeviceRange> step_values;  // see DeviceQueue::work_on

  struct SegmentState {
    std::list<BoundSegment> cache;  // the most recently used first
    BoundSegment* active = nullptr;
    Tensor arena;
    std::unique_ptr<StagingBuffer> staging;  // in place of the arena when there is a device
  };
  std::vector<SegmentState> segments;
  Tensor workspace;
  std::unique_ptr<SessionDevice> device;
  bool orders_by_values = false;  // of the device
  std::map<std::pair<const Step*, std::size_t>, std::unique_ptr<Session>> subsessions;
  std::vector<Shape> last_shapes;
  bool inputs_known = false;
  bool has_dynamic = false;
  std::vector<Value> outputs;
  // Of what lives in this session; a subgraph's session takes part in that of the outer one.
  std::shared_ptr<TensorBudget> budget;

  explicit Impl(std::shared_ptr<const Program> p, Parallel* host) : program(std::move(p)) {
    if (!host) own_parallel = make_thread_pool(std::max(1, program->options.threads));
    parallel = host ? host : own_parallel.get();
    budget = std::make_shared<TensorBudget>(program->options.max_tensor_bytes);
    views.resize(program->values.size());
    owned.resize(program->values.size());
    segments.resize(program->segments.size());
    outputs.resize(program->outputs.size());
    last_shapes.resize(program->inputs.size());
    has_dynamic = segments.size() > 1;
    if (program->device) {
      device = std::make_unique<SessionDevice>(program->device, segments.size());
      orders_by_values = program->device->orders_by_values();
    }
    for (std::size_t v = 0; v < views.size(); ++v) {
      const ProgramValue& value = program->values[v];
      views[v].dtype = value.fact.dtype;
      if (value.constant)
        views[v] = value.constant->view();
      else if (value.storage == Storage::Constant)
        views[v].shape = concrete(value.fact.shape);
      if (value.device_constant) views[v].data = device_pointer(value.device_constant->address());
    }
  }

  // StepHost
  Value value(int id) const override {
    const ProgramValue& v = program->values[u(id)];
    if (v.constant) return *v.constant;
    if (v.storage == Storage::Owned || v.fact.kind != Fact::Kind::Tensor) return owned[u(id)];
    return borrow(views[u(id)]).clone();
  }

  void store(int id, Value value) override {
    const ProgramValue& v = program->values[u(id)];
    if (v.storage == Storage::Owned) {
      if (value.is_tensor()) views[u(id)] = value.tensor().view();
      owned[u(id)] = std::move(value);
      return;
    }
    const Tensor& t = value.tensor();
    TensorView& to = views[u(id)];
    check(t.dtype() == to.dtype && t.shape() == to.shape, ErrorKind::Shape,
          "output has {}{}, expected {}{}", name_of(t.dtype()), t.shape().str(), name_of(to.dtype),
          to.shape.str());
    if (t.bytes() != 0) std::memcpy(to.data, t.data(), t.bytes());
  }

  std::vector<Value> run_subprogram(const Step& step, std::size_t which,
                                    std::vector<Value> inputs) override {
    check(which < step.subprograms.size(), ErrorKind::Internal, "subgraph {} is missing", which);
    auto& sub = subsessions[{&step, which}];
    if (!sub) sub = std::make_unique<Session>(step.subprograms[which], parallel);
    sub->set_symbols(known_symbols);
    if (auto error = sub->run(inputs)) throw *error;
    std::vector<Value> results;
    for (std::size_t i = 0; i < step.subprograms[which]->outputs.size(); ++i) {
      const Value& v = sub->output(i);
      results.push_back(v.is_tensor() ? Value(v.tensor().clone()) : v);
    }
    return results;
  }

  const SymbolValues& symbols() const override { return known_symbols; }

  void set_inputs(std::span<const Value> inputs) {
    check(inputs.size() == program->inputs.size(), ErrorKind::Shape,
          "the model has {} inputs, got {}", program->inputs.size(), inputs.size());
    bool same = inputs_known;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int v = program->inputs[i];
      const ProgramValue& value = program->values[u(v)];
      if (value.fact.kind != Fact::Kind::Tensor) {
        check_container(value.fact, inputs[i], "input '" + value.name + "'");
        owned[u(v)] = inputs[i];
        continue;
      }
      const Tensor& t = inputs[i].tensor();
      check(t.defined(), ErrorKind::Shape, "input '{}' is missing", value.name);
      same = same && t.shape() == last_shapes[i] && t.dtype() == views[u(v)].dtype;
    }
    if (!same) solve_inputs(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int v = program->inputs[i];
      if (program->values[u(v)].fact.kind == Fact::Kind::Tensor)
        views[u(v)] = inputs[i].tensor().view();
    }
  }

  void solve_inputs(std::span<const Value> inputs) {
    inputs_known = false;
    known_symbols = fixed_symbols;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ProgramValue& v = program->values[u(program->inputs[i])];
      if (v.fact.kind != Fact::Kind::Tensor) continue;
      const Tensor& t = inputs[i].tensor();
      solve_symbols(v.fact, t.dtype(), t.shape(), "input '" + v.name + "'", known_symbols);
      last_shapes[i] = t.shape();
    }
    // Sizes that are expressions, once all symbols have values.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ProgramValue& v = program->values[u(program->inputs[i])];
      if (v.fact.kind != Fact::Kind::Tensor) continue;
      const Shape expected = eval(v.fact.shape, known_symbols);
      check(expected == last_shapes[i], ErrorKind::Shape,
            "input '{}' has shape {}, expected {} = {}", v.name, last_shapes[i].str(),
            str(v.fact.shape), expected.str());
    }
    if (!has_dynamic) {
      for (SegmentState& s : segments) s.active = nullptr;
    }
    inputs_known = true;
  }

  std::vector<std::int64_t> key() const {
    std::vector<std::int64_t> k;
    for (const auto& name : program->symbols) {
      auto it = known_symbols.find(name);
      k.push_back(it == known_symbols.end() ? -1 : it->second);
    }
    return k;
  }

  void activate(std::size_t index) {
    SegmentState& state = segments[index];
    auto k = key();
    if (state.active && state.active->key == k) return;
    state.active = nullptr;
    auto it = state.cache.begin();
    while (it != state.cache.end() && it->key != k) ++it;
    if (it != state.cache.end()) {
      state.cache.splice(state.cache.begin(), state.cache, it);
      install(index, state.cache.front());
    } else {
      // Commands of a binding that may be dropped below must have run.
      if (device) device->queue().sync();
      // Not in the cache before it is complete: a failed binding leaves nothing behind.
      std::list<BoundSegment> fresh(1);
      fresh.front().key = std::move(k);
      bind_segment(index, fresh.front());
      state.cache.splice(state.cache.begin(), fresh);
      while (state.cache.size() >
             static_cast<std::size_t>(std::max(1, program->options.bind_cache))) {
        state.cache.pop_back();
      }
    }
    state.active = &state.cache.front();
  }

  void bind_segment(std::size_t index, BoundSegment& bound) {
    const Segment& segment = program->segments[index];
    for (int c = segment.first_check; c < segment.end_check; ++c)
      verify(program->checks[u(c)], known_symbols);
    plan_segment(*program, segment, known_symbols, bound);
    for (const auto& [v, shape] : bound.shapes) views[u(v)].shape = shape;
    for (int s = segment.begin; s < segment.end; ++s) {
      const Step& step = program->steps[u(s)];
      BoundStep b;
      for (int v : step.in) b.in.push_back(v < 0 ? nullptr : &views[u(v)]);
      for (int v : step.out) b.out.push_back(v < 0 ? nullptr : &views[u(v)]);
      in_context([&] { return "node '" + step.name + "' (" + step.op_name + ")"; },
                 [&] { b.kernel = bind_step(step, b); });
      auto& bytes = step.queued ? bound.device_workspace_bytes : bound.workspace_bytes;
      bytes = std::max(bytes, b.kernel->workspace_bytes());
      bound.steps.push_back(std::move(b));
    }
    check_bytes(bound);
    find_spans(segment, bound);
    install(index, bound);
  }

  // What lies outside of the tensors that TensorLimit counts: the device's memory, and the host's
  // that it copies from and to.
  void check_bytes(const BoundSegment& bound) const {
    if (!device) return;
    const std::int64_t most = program->options.max_tensor_bytes;
    const std::int64_t on_device = checked_add(
        bound.device_arena_bytes, static_cast<std::int64_t>(bound.device_workspace_bytes));
    for (const std::int64_t bytes : {bound.arena_bytes, on_device})
      check(bytes <= most, ErrorKind::Memory,
            "intermediate values take {} bytes, the limit is {} (max_tensor_bytes)", bytes, most);
  }

  void find_spans(const Segment& segment, BoundSegment& bound) const {
    for (int s = segment.begin; s < segment.end; ++s) {
      if (!program->steps[u(s)].queued) continue;
      const int at = s - segment.begin;
      if (bound.spans.empty() || bound.spans.back().end != at)
        bound.spans.push_back({at, at, nullptr, 0});
      bound.spans.back().end = at + 1;
    }
  }

  std::unique_ptr<BoundKernel> bind_step(const Step& step, const BoundStep& b) {
    if (!step.kernel) return bind_eval(step, *this);
    std::vector<const TensorView*> out(b.out.begin(), b.out.end());
    return step.kernel->bind({b.in, out, known_symbols, parallel->threads()});
  }

  static void grow(Tensor& block, std::int64_t bytes) {
    if (block.defined() && static_cast<std::int64_t>(block.bytes()) >= bytes) return;
    block = Tensor();
    block = Tensor(DType::U8, Shape{bytes});
  }

  // Segments share memory: when it cannot be had, none of them is as it was bound.
  void install(std::size_t index, BoundSegment& bound) {
    try {
      place(index, bound);
    } catch (...) {
      for (SegmentState& s : segments) s.active = nullptr;
      throw;
    }
  }

  void place(std::size_t index, BoundSegment& bound) {
    void* base = nullptr;
    const int first = program->segments[index].begin;
    in_context(
        [&] {
          return fmt::format("intermediate values from {} on",
                             u(first) < program->steps.size()
                                 ? "node '" + program->steps[u(first)].name + "'"
                                 : "the inputs");
        },
        [&] {
          base = host_arena(segments[index], bound.arena_bytes);
          grow(workspace, static_cast<std::int64_t>(bound.workspace_bytes));
        });
    for (const auto& [v, shape] : bound.shapes) views[u(v)].shape = shape;
    for (const auto& [v, offset] : bound.offsets) {
      if (!program->values[u(v)].on_device)
        views[u(v)].data = static_cast<std::uint8_t*>(base) + offset;
    }
    if (device) device->install(index, *program, bound, views);
  }

  void* host_arena(SegmentState& state, std::int64_t bytes) {
    if (device) {
      device->reserve_staging(state.staging, static_cast<std::size_t>(bytes));
      return state.staging->data();
    }
    grow(state.arena, bytes);
    return state.arena.mutable_data();
  }

  void run_segment(std::size_t index) {
    if (has_dynamic || !segments[index].active) activate(index);
    const Segment& segment = program->segments[index];
    for (int v : segment.aliases) views[u(v)].data = views[u(program->values[u(v)].alias_of)].data;
    BoundSegment& bound = *segments[index].active;
    auto span = bound.spans.begin();
    for (std::size_t i = 0; i < bound.steps.size(); ++i) {
      const Step& step = program->steps[u(segment.begin) + i];
      if (step.queued && !observer) {
        WorkLimit::check_time();
        device->run(*span, [&] {
          for (int s = span->begin; s < span->end; ++s)
            run_step(program->steps[u(segment.begin + s)], bound.steps[u(s)]);
        });
        i = u(span->end) - 1;
        ++span;
        continue;
      }
      if (step.sync_before) device->queue().sync();
      run_step(step, bound.steps[i]);
    }
  }

  void run_step(const Step& step, BoundStep& b) {
    try {
      WorkLimit::check_time();
      RunContext ctx{b.in,
                     b.out,
                     step.queued ? device->workspace() : workspace.mutable_data(),
                     *parallel,
                     device ? &device->queue() : nullptr,
                     step.label.c_str()};
      if (orders_by_values && step.queued) tell_values(b, ctx.workspace);
      if (observer) [[unlikely]]
        run_observed(step, b, ctx);
      else
        b.kernel->run(ctx);
      if (step.dynamic) solve_outputs(step);
    } catch (Error& e) {
      e.in(step.label);
      throw;
    }
  }

  void tell_values(const BoundStep& b, const void* workspace_start) {
    step_values.clear();
    const auto add = [&](const void* start, std::size_t bytes) {
      if (start && bytes > 0) step_values.push_back({device_address(start), bytes});
    };
    for (const TensorView* v : b.in)
      if (v) add(v->data, v->bytes());
    for (const TensorView* v : b.out)
      if (v) add(v->data, v->bytes());
    add(workspace_start, b.kernel->workspace_bytes());
    device->queue().work_on(step_values);
  }

  void run_observed(const Step& step, BoundStep& b, RunContext& ctx) {
    const auto start = std::chrono::steady_clock::now();
    b.kernel->run(ctx);
    if (step.queued) device->queue().sync();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::steady_clock::now() - start);
    std::vector<Value> results;
    for (int v : step.out) results.push_back(v < 0 ? Value() : observe(v, step));
    observer(step, results, ns.count(), b.kernel->variant());
  }

  // The value as the host sees it: copied there when it lies on the device.
  Value observe(int v, const Step& step) {
    if (!program->values[u(v)].on_device) return peek(v);
    const TensorView& view = views[u(v)];
    Tensor t(view.dtype, view.shape);
    device->queue().download(t.mutable_data(), device_address(view.data), t.bytes());
    device->queue().sync();
    return step.columns == 0 ? t : columns_of(t, step.column, step.columns);
  }

  // Columns of the last axis.
  static Tensor columns_of(const Tensor& t, std::int64_t first, std::int64_t count) {
    Shape shape = t.shape();
    const std::int64_t all = shape.back(), rows = all == 0 ? 0 : t.elements() / all;
    shape[shape.size() - 1] = count;
    Tensor part(t.dtype(), shape);
    const auto size = static_cast<std::int64_t>(size_of(t.dtype()));
    const auto* from = static_cast<const std::byte*>(t.data()) + first * size;
    auto* to = static_cast<std::byte*>(part.mutable_data());
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * count * size, from + r * all * size,
                  static_cast<std::size_t>(count * size));
    return part;
  }

  // The value without a copy; valid until the session runs again.
  Value peek(int v) const {
    const ProgramValue& value = program->values[u(v)];
    if (value.constant) return *value.constant;
    if (value.storage == Storage::Owned || value.fact.kind != Fact::Kind::Tensor)
      return owned[u(v)];
    return borrow(views[u(v)]);
  }

  void solve_outputs(const Step& step) {
    for (std::size_t k = 0; k < step.out.size(); ++k) {
      const int v = step.out[k];
      if (v < 0 || program->values[u(v)].fact.kind != Fact::Kind::Tensor) continue;
      check(program->values[u(v)].storage != Storage::Owned || owned[u(v)].tensor().defined(),
            ErrorKind::Internal, "output {} was not set", k);
      solve_symbols(program->values[u(v)].fact, views[u(v)].dtype, views[u(v)].shape,
                    "output " + std::to_string(k), known_symbols);
    }
  }

  void run(std::span<const Value> inputs) {
    const LowerOptions& options = program->options;
    std::optional<FlushDenormals> flush;
    if (options.flush_denormals) flush.emplace();
    const TensorLimit limit(options.max_tensor_bytes, budget);
    const WorkLimit work(options.max_iterations, options.max_seconds);
    // Symbols that steps bring are solved anew in each run.
    if (has_dynamic) inputs_known = false;
    set_inputs(inputs);
    for (std::size_t i = 0; i < segments.size(); ++i) run_segment(i);
    if (program->sync_at_end) {
      device->queue().sync();
      WorkLimit::check_time();
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = peek(program->outputs[i]);
  }
};

Session::Session(std::shared_ptr<const Program> program, Parallel* parallel)
    : impl_(std::make_unique<Impl>(std::move(program), parallel)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Program& Session::program() const {
  return *impl_->program;
}

namespace {

template <typename F>
std::optional<Error> guarded(F&& f) noexcept {
  try {
    f();
    return std::nullopt;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::Memory, "out of memory");
  } catch (const std::exception& e) {
    return Error(ErrorKind::Internal, e.what());
  }
}

}  // namespace

std::optional<Error> Session::run(std::span<const Value> inputs) noexcept {
  auto error = guarded([&] { impl_->run(inputs); });
  // Commands that were queued before the error must not meet the next run's memory.
  if (error && impl_->device) guarded([&] { impl_->device->queue().sync(); });
  return error;
}

const Value& Session::output(std::size_t i) const {
  return impl_->outputs.at(i);
}

std::optional<Error> Session::bind(const SymbolValues& symbols) noexcept {
  return guarded([&] {
    SymbolValues all = impl_->fixed_symbols;
    all.insert(symbols.begin(), symbols.end());
    impl_->known_symbols = std::move(all);
    for (std::size_t i = 0; i < impl_->program->inputs.size(); ++i) {
      const int v = impl_->program->inputs[i];
      const Fact& f = impl_->program->values[u(v)].fact;
      if (f.kind != Fact::Kind::Tensor) continue;
      impl_->views[u(v)].shape = eval(f.shape, impl_->known_symbols);
    }
    impl_->inputs_known = false;
    const TensorLimit limit(impl_->program->options.max_tensor_bytes, impl_->budget);
    impl_->activate(0);
  });
}

void Session::set_symbols(SymbolValues symbols) {
  if (symbols == impl_->fixed_symbols) return;
  impl_->fixed_symbols = std::move(symbols);
  impl_->inputs_known = false;
}

void Session::set_observer(StepObserver observer) {
  impl_->observer = std::move(observer);
}

MemoryPlan Session::memory() const {
  MemoryPlan m;
  std::int64_t device_workspace = 0;
  for (const auto& s : impl_->segments) {
    if (!s.active) continue;
    m.arena_bytes += s.active->arena_bytes;
    m.lower_bound_bytes += s.active->lower_bound;
    m.workspace_bytes =
        std::max(m.workspace_bytes, static_cast<std::int64_t>(s.active->workspace_bytes));
    m.device_bytes += s.active->device_arena_bytes;
    device_workspace =
        std::max(device_workspace, static_cast<std::int64_t>(s.active->device_workspace_bytes));
  }
  m.device_bytes += device_workspace;
  return m;
}

DeviceCounters Session::device_counters() const {
  return impl_->device ? impl_->device->queue().counters() : DeviceCounters{};
}

std::string Session::print_binding() const {
  std::string text;
  for (std::size_t i = 0; i < impl_->segments.size(); ++i) {
    const auto* bound = impl_->segments[i].active;
    const Segment& segment = impl_->program->segments[i];
    if (!bound) continue;
    text += fmt::format("segment {}: arena {} bytes (lower bound {}), workspace {} bytes\n", i,
                        bound->arena_bytes, bound->lower_bound, bound->workspace_bytes);
    std::map<int, std::int64_t> offsets(bound->offsets.begin(), bound->offsets.end());
    for (std::size_t s = 0; s < bound->steps.size(); ++s) {
      const Step& step = impl_->program->steps[u(segment.begin) + s];
      const auto variant = bound->steps[s].kernel->variant();
      text += fmt::format("{:>4} {:<16} {:<28} {}{}", u(segment.begin) + s, step.op_name,
                          variant.empty() ? step.kernel->name() : variant, step.name, step.fused);
      for (int v : step.out) {
        if (v < 0) continue;
        text += fmt::format(" → {}{}", name_of(impl_->views[u(v)].dtype),
                            impl_->views[u(v)].shape.str());
        if (auto it = offsets.find(v); it != offsets.end()) text += fmt::format("@{}", it->second);
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace treadle
