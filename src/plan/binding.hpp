// A segment of a program bound to concrete sizes.
#pragma once

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

struct BoundSegment {
  std::vector<std::int64_t> key;              // values of the program's symbols, -1: unknown
  std::vector<std::pair<int, Shape>> shapes;  // of the values that this segment places or aliases
  std::vector<std::pair<int, std::int64_t>> offsets;  // of the values in the arena
  std::vector<BoundStep> steps;
  std::int64_t arena_bytes = 0;
  std::int64_t lower_bound = 0;
  std::size_t workspace_bytes = 0;
};

// Evaluates shapes and plans the arena; the steps are bound by the session, which owns the views.
void plan_segment(const Program& p, const Segment& segment, const SymbolValues& symbols,
                  BoundSegment& bound);

}  // namespace treadle
