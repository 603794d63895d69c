// Where Resize reads along one axis.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/resize.hpp"

namespace treadle::ops {

// One axis of a Resize with its sizes resolved.
struct ResizeAxis {
  std::int64_t in = 1, out = 1;
  float scale = 1;
  float roi_start = 0, roi_end = 1;
};

// One input position and its weight.
struct Tap {
  std::int64_t at = 0;
  double weight = 1;
};
// The taps of one output position; outside: the extrapolation value is used instead.
struct Taps {
  std::vector<Tap> taps;
  bool outside = false;
};

// The taps of each output position of an axis: one for Nearest, else all with their weights
// (clamped to the edge, or left out and renormalised with exclude_outside). Coordinates are
// computed in f32, as ONNX Runtime does. Throws Shape error when the scale is not positive or the
// input is empty.
std::vector<Taps> resize_taps(const Resize& op, const ResizeAxis& axis);

}  // namespace treadle::ops
