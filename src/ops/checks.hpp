// Checks that operators share: inputs, axes, sizes and indices that come from data.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/operator.hpp"

namespace treadle::ops {

// The fact of input i, a tensor; throws Type error "Gather: input 1 is missing" or "… is no
// tensor".
const Fact& need(InputFacts in, std::size_t i, std::string_view op);
// The same when the input may be omitted: null then.
const Fact* maybe(InputFacts in, std::size_t i, std::string_view op);
// Throws Shape error unless 0 <= axis < rank.
void need_axis(std::int64_t axis, int rank, std::string_view op);
// Throws Type error unless the fact's dtype is a (signed or unsigned) integer.
void need_integer(const Fact& f, std::size_t i, std::string_view op);
// Throws Type error unless the fact's dtype is `dtype`.
void need_dtype(const Fact& f, DType dtype, std::size_t i, std::string_view op);
// Throws Shape error unless the fact's rank is `rank`.
void need_rank(const Fact& f, int rank, std::size_t i, std::string_view op);
// The size that two axes share: the constant one when only one is. Throws Shape error for two
// different constants.
Dim agree(const Dim& a, const Dim& b, std::string_view op, std::string_view what);

// Integer elements of a view; throws Type error when it holds no integers, Shape error for an u64
// above the largest i64.
std::vector<std::int64_t> read_ints(const TensorView& v, std::string_view op);
// `index`, with `size` added when negative; throws Shape error naming operator, index and range.
std::int64_t wrap_index(std::int64_t index, std::int64_t size, std::string_view op,
                        std::int64_t axis);

// An axis seen as rows of `outer` blocks of `size` strips of `inner` elements.
struct AxisView {
  std::int64_t outer = 1, size = 1, inner = 1;
};
AxisView axis_view(const Shape& shape, std::int64_t axis);

}  // namespace treadle::ops
