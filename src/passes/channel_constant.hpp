// Constants that vary along one axis only, and convolution weights scaled by them.
#pragma once

#include "ops/conv.hpp"
#include "ops/conv_transpose.hpp"
#include "passes/match.hpp"

namespace treadle::passes {

// x ∘ c with a known c of one element, or that varies along one axis only.
struct ChannelStep {
  ops::BinaryFn fn;  // Add or Mul; Sub and Div are turned into them
  ValueId x;
  // [1], or [size of the axis].
  Tensor c;
  bool is_scalar() const { return c.elements() == 1; }
};

// v as such a step over floats along `axis`, with the type of x.
std::optional<ChannelStep> channel_step(const Graph& g, ValueId v, int axis);
// The same along any axis, which is written to `axis` (0 for scalars).
std::optional<ChannelStep> any_channel_step(const Graph& g, ValueId v, int& axis);

// c [n] as a tensor of `rank` with n on `axis`.
Tensor along_axis(const Tensor& c, int rank, int axis);
// c repeated to [n] when it has one element.
Tensor widened(const Tensor& c, std::int64_t n);

// a ∘ b (Add or Mul), or nothing where a 16-bit float would leave its range, or lose its digits,
// though no value of the model does. Weights may have elements that do, beside larger ones.
enum class Of : std::uint8_t { Elements, Weights };
std::optional<Tensor> folded(ops::BinaryFn fn, const Tensor& a, const Tensor& b, Of of);
// 1/c, or nothing alike.
std::optional<Tensor> reciprocal(const Tensor& c);
// Whether x·b + a·b is as good as (x+a)·b, by shift = a·b (of a sum of products: Σ |a·b|). It costs
// digits where x + a nearly cancels, as a time and its mean do: x + a is exact then, x·b is
// rounded. So only for products x, which have been rounded already, or where a·b is so small that
// its rounding does not matter.
bool keeps_digits(const Graph& g, ValueId x, const Tensor& shift);
// Types in which (x+a)·b must not become x·b + a·b.
bool is_16_bit_float(DType dtype);

// The axes of output and input channels of Conv weights.
int output_channel_axis(ops::WeightLayout layout, int rank);
int input_channel_axis(ops::WeightLayout layout, int rank);

}  // namespace treadle::passes
