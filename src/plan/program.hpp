// The lowered model: a flat list of steps over numbered values. Immutable, shared by sessions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "plan/kernel.hpp"
#include "plan/shape_check.hpp"

namespace treadle {

// Options of lowering; recorded in the program.
struct LowerOptions {
  std::string target = "cpu";
  int threads = 1;
  // Forbids algorithms that round differently from the direct one: Winograd, and 16-bit results
  // that stay f32 within a fused step of a device.
  bool exact = false;
  // No fusion and no fast kernels: every node through its reference `eval`.
  bool reference = false;
  // Of what a session's values and the tensors that its steps make take together, and of each
  // tensor; beyond it the run ends with a Memory error.
  std::int64_t max_tensor_bytes = std::int64_t{16} << 30;
  // Iterations that all loops of a run may make together, and its time, looked at between steps and
  // iterations (0: no bound); beyond either the run ends with a Memory error.
  std::int64_t max_iterations = 10'000'000;
  double max_seconds = 0;
  // Denormals count as zero, as inputs and results, while a session runs. The caller's
  // floating-point state comes back afterwards.
  bool flush_denormals = true;
  // With a device target: an operator that the device does not take is an error instead of a step
  // on the CPU.
  bool require_device = false;
  // Operators of these names stay on the CPU whatever the device can do.
  std::vector<std::string> keep_on_cpu;
  // Convolution kernels of a device that are not chosen, by how their names begin ("depthwise").
  // For measurements.
  std::vector<std::string> avoid_kernels;
  // Bound shapes kept per session.
  int bind_cache = 8;
};

struct Program;

enum class Storage : std::uint8_t {
  Input,     // the caller's tensor
  Constant,  // `constant`
  Arena,     // planned
  Alias,     // the elements of `alias_of` under another shape
  Owned,     // made by its step at run time: size known only then, or not a plain tensor
};

struct ProgramValue {
  Fact fact;
  std::string name;
  Storage storage = Storage::Arena;
  std::shared_ptr<const Tensor> constant;
  int alias_of = -1;
  std::string view_op;  // of an alias: what makes it, "node 'flat' (Reshape)"
  // In the memory of the program's device; an alias lies where its base does.
  bool on_device = false;
  DeviceBufferPtr device_constant;  // of a Constant on the device
};

struct Step {
  // Null for a step that goes through Operator::eval (then `op` is set).
  KernelPtr kernel;
  OperatorPtr op;
  std::vector<int> in;  // values; −1: omitted
  std::vector<int> out;
  std::string name;     // the node it came from
  std::string op_name;  // "Conv"
  std::string fused;    // what else it does: "+Relu +Add"
  // The input whose memory output 0 may take over when this is its last use; −1: none.
  int inplace = -1;
  // True when an output brings symbols or is Owned: a segment ends after it.
  bool dynamic = false;
  Cost cost;
  // The kernel enqueues its work on the device's queue: device kernels and copies between memories.
  bool queued = false;
  // Of a step that writes a part of its output's last axis: the first column and how many; 0
  // columns: the whole output. Other steps write the rest.
  std::int64_t column = 0, columns = 0;
  std::string part;  // the name that the part has in the graph
  // The queue must be empty before this step runs: it reads what a queued copy brings to the host.
  // Set by finish().
  bool sync_before = false;
  std::string label;       // "node 'conv1' (Conv)", "node 'sum' (Binary add)", for errors; set by
                           // finish() where lowering has not
  std::string why_on_cpu;  // with a device target: why this step does not run there
  std::vector<std::shared_ptr<const Program>> subprograms;
};

// A run of steps whose shapes are known before the first of them runs.
struct Segment {
  int begin = 0, end = 0;    // steps
  std::vector<int> arena;    // values that this segment places in its arena
  std::vector<int> aliases;  // values that share another's elements, bases first
  int first_check = 0, end_check = 0;  // of the program's checks, those of its steps
};

struct Program {
  std::vector<ProgramValue> values;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;
  std::vector<std::string> output_names;
  std::vector<ShapeCheck> checks;  // by step
  LowerOptions options;
  std::shared_ptr<Device> device;  // null: everything runs on the CPU

  // Filled by finish().
  std::vector<std::string> symbols;  // every symbol that a size depends on
  std::vector<Segment> segments;
  bool sync_at_end = false;  // queued steps after the last sync
  std::vector<int> place;    // the value in whose memory each value lies (itself, mostly)
  std::vector<int> first_step, last_step;  // of each place: when it is written first, used last
};

// Cuts the steps into segments, decides what runs in place and how long each value lives. To be
// called once, when values and steps are complete.
void finish(Program& p);

// One line a step: value numbers, kernel, facts.
std::string print(const Program& p);

}  // namespace treadle
