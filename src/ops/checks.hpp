// Checks that operators share: inputs, axes, sizes and indices that come from data. Their errors
// name no operator: who calls infer or eval gives the node as context.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/operator.hpp"

namespace treadle::ops {

// Throws Shape error unless there are exactly `count` inputs.
void need_inputs(InputFacts in, std::size_t count);
// The fact of input i, which must be given and be a tensor; throws Type error.
const Fact& need(InputFacts in, std::size_t i);
// The same when the input may be omitted: null then.
const Fact* maybe(InputFacts in, std::size_t i);
// Throws Type error unless the dtype of input i is a (signed or unsigned) integer.
void need_integer(const Fact& f, std::size_t i);
// Throws Type error unless the dtype of input i is `dtype`.
void need_dtype(const Fact& f, DType dtype, std::size_t i);
// Throws Shape error unless the rank of input i is `rank`.
void need_rank(const Fact& f, int rank, std::size_t i);

// Throws Shape error unless 0 <= axis < rank.
void need_axis(std::int64_t axis, int rank);
// Throws Shape error unless axes are sorted, distinct and within [0, rank).
void need_axes(const std::vector<std::int64_t>& axes, int rank);
// Where the axes of the source stand after the permutation, sorted.
std::vector<std::int64_t> permuted_axes(const std::vector<std::int64_t>& axes, const Perm& perm);

// The size that two axes share: the constant one when only one is. Throws Shape error for two
// different constants; `what` names them.
Dim agree(const Dim& a, const Dim& b, std::string_view what);
// The shape that all inputs (tensors of equal rank) broadcast to; throws Shape error naming the
// inputs, the axis and the sizes.
SymShape broadcast_shape(InputFacts in);
// True when a size computed from positive symbols is never negative: judged at 1 and at a large
// value of each symbol, which is exact for what shape arithmetic consists of.
bool is_non_negative(const Dim& d);

// Integer elements of a view; throws Type error when it holds no integers, Shape error for an u64
// above the largest i64.
std::vector<std::int64_t> read_ints(const TensorView& v);
// `index`, with `size` added when negative; throws Shape error naming index, range and axis.
std::int64_t wrap_index(std::int64_t index, std::int64_t size, std::int64_t axis);

// An axis seen as rows of `outer` blocks of `size` strips of `inner` elements.
struct AxisView {
  std::int64_t outer = 1, size = 1, inner = 1;
};
AxisView axis_view(const Shape& shape, std::int64_t axis);

}  // namespace treadle::ops
