// Elementwise functions on a device: one function, or a chain of them in one launch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernels/elementwise_params.hpp"
#include "gpu/prepared.hpp"
#include "ops/binary.hpp"
#include "ops/copy.hpp"
#include "ops/unary.hpp"

namespace treadle::gpu {

// Why no kernel computes it, or empty. Floats are F16, BF16 and F32, computed in f32; integers all
// but U64.
std::string why_no_unary(const ops::Unary& op, DType dtype);
std::string why_no_binary(ops::BinaryFn fn, DType dtype);
// Of Cast and Select.
std::string why_no_element(DType dtype);

// A chain works on an accumulator, which starts as input 0 and ends as the output; only chains of
// floats round once, at their end. Without a step it is a cast. Everything throws Unsupported error
// beyond the limits of kernels/elementwise_params.hpp and for what the why_no functions name.
class ElementwisePlan {
 public:
  // `to`: where the output's elements are, dense when absent.
  ElementwisePlan(DType out, const Shape& shape, std::optional<ops::Strided> to = std::nullopt);

  // An input that broadcasts to the output's shape (equal rank); returns its number.
  int input(DType dtype, const Shape& shape);
  void unary(const ops::Unary& op);
  // f(accumulator, input), or with `input_first` f(input, accumulator).
  void binary(ops::BinaryFn fn, int input, bool input_first = false);
  // accumulator ? a : b
  void select(int a, int b);
  // Throws Unsupported error for a result of too many elements, or of too many axes that do not
  // merge. For a binding, which calls it after the last input; prepare() does so itself.
  void check_sizes() const;
  // The accumulator becomes the operand kSaved of later steps.
  void save();
  static constexpr int kSaved = 4;

  // `inputs` in their order.
  PreparedLaunches prepare(std::span<const DeviceAddress> inputs, DeviceAddress out,
                           const char* label) const;
  void run(Queue& queue, std::span<const DeviceAddress> inputs, DeviceAddress out,
           const char* label) const;

 private:
  struct Operand {
    DType dtype;
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;
  };
  struct Axis {
    std::int64_t size;
    std::vector<std::int64_t> strides;  // of the inputs, then of the output
  };
  void add(int op, int operand = 0, int second = 0, double a = 0, double b = 0);
  bool is_empty() const;
  std::vector<Axis> merged_axes() const;
  bool has_float_input() const;
  bool fits_vectors(const std::vector<Axis>& axes, std::int64_t width,
                    std::span<const DeviceAddress> inputs, DeviceAddress out) const;
  tk::ElementwiseParams fill_params(const std::vector<Axis>& axes, std::int64_t width) const;

  Shape shape_;
  Operand out_;
  std::vector<Operand> inputs_;
  std::vector<tk::ElementwiseStep> steps_;
  bool vector_steps_ = true;
};

}  // namespace treadle::gpu
