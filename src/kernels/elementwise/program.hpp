// Chains of unary and binary f32 functions over broadcast inputs, computed in one pass over tiles
// that stay in the first-level cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/shape.hpp"
#include "base/threads.hpp"
#include "kernels/math/rows.hpp"

namespace treadle::kernels {

// One function. Operands are values: 0 … inputs−1 are the program's inputs, inputs + k is the
// result of step k.
struct ElementwiseStep {
  bool is_unary = true;
  Fn1 fn1 = Fn1::Relu;
  Fn2 fn2 = Fn2::Add;
  int x = 0, y = 0;  // y: binary functions only
  float a = 0, b = 0;

  static ElementwiseStep unary(Fn1 f, int x, float a = 0, float b = 0) {
    return {true, f, Fn2::Add, x, 0, a, b};
  }
  static ElementwiseStep binary(Fn2 f, int x, int y) { return {false, Fn1::Relu, f, x, y, 0, 0}; }
};

// The result of the last step is the output.
class ElementwiseProgram {
 public:
  static constexpr int kMaxInputs = 8;
  static constexpr int kMaxSteps = 24;
  // Intermediate results alive at once.
  static constexpr int kMaxTemporaries = 8;

  // Throws Internal error when a limit is passed (`fits` tells beforehand) or an operand is not yet
  // computed.
  ElementwiseProgram(int inputs, std::vector<ElementwiseStep> steps);
  static bool fits(int inputs, std::span<const ElementwiseStep> steps);

  int inputs() const { return inputs_; }
  std::span<const ElementwiseStep> steps() const { return steps_; }
  // The temporary that holds the result of each step; −1 for the last, which is the output.
  std::span<const int> temporaries() const { return temporaries_; }

 private:
  int inputs_;
  std::vector<ElementwiseStep> steps_;
  std::vector<int> temporaries_;
};

// A program for given shapes.
class BoundElementwise {
 public:
  // Each input has the output's rank, and the output's size or 1 in each axis; throws Shape error
  // otherwise. `table` outlives this.
  BoundElementwise(ElementwiseProgram program, const Shape& out, std::span<const Shape> in,
                   const Rows& table = rows());

  // `out` is row-major and contiguous, as the inputs are; it may be the memory of any input of the
  // output's shape.
  void run(std::span<const float* const> in, float* out, Parallel& parallel) const;

 private:
  struct Axis {
    std::int64_t size = 1;
    std::int64_t strides[ElementwiseProgram::kMaxInputs] = {};
  };
  enum class Access : std::uint8_t { Flat, One, Broadcast };
  struct Operand {
    const float* data = nullptr;
    bool one = false;
  };

  void collapse(const Shape& out, std::span<const Shape> in);
  std::int64_t offset(std::size_t input, std::int64_t row) const;
  void gather(std::size_t input, const float* data, std::int64_t row, std::int64_t rows,
              float* to) const;
  void run_long_rows(std::span<const float* const> in, float* out, std::int64_t begin,
                     std::int64_t end) const;
  void run_short_rows(std::span<const float* const> in, float* out, std::int64_t begin,
                      std::int64_t end) const;
  void run_tile(Operand* values, float (*temporaries)[1024], float* out, std::int64_t n) const;

  ElementwiseProgram program_;
  const Rows& table_;
  std::vector<Axis> axes_;  // outermost first; neighbours that can be are merged
  std::vector<Access> access_;
  std::int64_t rows_ = 1;        // product of all axes but the innermost
  std::int64_t row_length_ = 1;  // the innermost axis
  bool long_rows_ = true;
  std::int64_t tile_ = 1;  // elements (long rows) or rows of a tile
  std::int64_t tiles_per_row_ = 1;
};

}  // namespace treadle::kernels
