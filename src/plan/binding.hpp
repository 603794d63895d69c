// A segment of a program bound to concrete sizes.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "plan/program.hpp"
#include "plan/session.hpp"

namespace treadle {

struct BoundStep {
  std::unique_ptr<BoundKernel> kernel;
  std::vector<const TensorView*> in;
  std::vector<TensorView*> out;
};

// Queued steps that follow each other without a sync: recorded once, then replayed.
struct QueuedSpan {
  int begin = 0, end = 0;  // steps, counted from the segment's first
  std::unique_ptr<DeviceRecording> recording;
  std::uint64_t memory = 0;  // the state of the session's memory that the recording holds for
};

struct BoundSegment {
  std::vector<std::int64_t> key;              // values of the program's symbols, -1: unknown
  std::vector<std::pair<int, Shape>> shapes;  // of the values that this segment places or aliases
  std::vector<std::pair<int, std::int64_t>> offsets;  // of the values in the arena of their memory
  std::vector<BoundStep> steps;
  std::vector<QueuedSpan> spans;
  std::int64_t arena_bytes = 0;
  std::int64_t lower_bound = 0;
  std::size_t workspace_bytes = 0;
  // The same in the device's memory.
  std::int64_t device_arena_bytes = 0;
  std::size_t device_workspace_bytes = 0;
  std::vector<std::pair<int, std::int64_t>> device_places;  // bytes of each place there
  std::map<int, DeviceBufferPtr> device_buffers;  // where each place has a buffer of its own
};

// "[1, 831]", or the expressions where they have no value. Does not throw.
std::string shape_text(const SymShape& shape, const SymbolValues& symbols);

// Evaluates shapes and plans the arena; the steps are bound by the session, which owns the views.
void plan_segment(const Program& p, const Segment& segment, const SymbolValues& symbols,
                  BoundSegment& bound);

}  // namespace treadle
