#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

enum class ResizeMode : std::uint8_t { Nearest, Linear, Cubic };
enum class Coordinates : std::uint8_t {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfHalfPixelForNn,
  TfCropAndResize,
};
enum class NearestRound : std::uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };

// ONNX Resize 10–19 over any axes. Input x; output sizes `sizes` (all axes). `scales` (one an axis)
// are used in the coordinate mapping when not empty, else sizes/input sizes.
class Resize final : public Operator {
 public:
  ResizeMode mode = ResizeMode::Nearest;
  Coordinates coordinates = Coordinates::HalfPixel;
  NearestRound nearest = NearestRound::RoundPreferFloor;
  SymShape sizes;
  std::vector<double> scales;
  std::vector<double> roi;  // TfCropAndResize: starts then ends, one an axis each
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation = 0;

  TREADLE_OPERATOR(Resize);
  std::optional<AxisChange> change_axes(InputFacts in, std::span<const Fact> out,
                                        const Perm& perm) const override;
};

}  // namespace treadle::ops
