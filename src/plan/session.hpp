// A session runs a program: it owns the arena, the bound kernels and the state.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/program.hpp"

namespace treadle {

struct MemoryPlan {
  std::int64_t arena_bytes = 0;        // as planned
  std::int64_t lower_bound_bytes = 0;  // the largest sum of values alive at once
  std::int64_t workspace_bytes = 0;
  std::int64_t device_bytes = 0;  // arena and workspace in the device's memory
};

// Called after each step while profiling or comparing: step, its outputs (copied to the host when
// they lie on the device), nanoseconds (of a queued step: until the device is done with it).
using StepObserver = std::function<void(const Step&, std::span<const Value> outputs,
                                        std::int64_t ns, std::string_view variant)>;

// Used by one thread at a time; any number of sessions may share a program.
class Session {
 public:
  explicit Session(std::shared_ptr<const Program> program, Parallel* parallel = nullptr);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const Program& program() const;

  // Runs on one value an input of the program. The error, or nullopt; never throws. Inputs are not
  // copied: they must live until run() returns. No allocation when the shapes were seen before
  // (programs whose shapes depend on data excepted).
  std::optional<Error> run(std::span<const Value> inputs) noexcept;
  // The output of the last run; a tensor's elements stay valid until the next run. Clone to keep.
  const Value& output(std::size_t i) const;

  // Binds without running, so that the first run costs what any run costs.
  std::optional<Error> bind(const SymbolValues& symbols) noexcept;
  // Symbols that the caller fixes whatever the inputs say (outer symbols of a subgraph).
  void set_symbols(SymbolValues symbols);
  void set_observer(StepObserver observer);
  MemoryPlan memory() const;
  // What this session's queue has done so far; all zero without a device.
  DeviceCounters device_counters() const;
  // One line a step of the current binding: kernel variant, shapes, offsets.
  std::string print_binding() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace treadle
