// Checks that `infer` functions share.
#pragma once

#include <string_view>

#include "graph/operator.hpp"

namespace treadle::ops {

// Throws Shape error unless there are exactly `count` inputs.
void expect_inputs(InputFacts in, std::size_t count);
// Input i, which must be given and be a tensor; throws Shape or Type error naming it.
const Fact& tensor_input(InputFacts in, std::size_t i, std::string_view role);
// The shape that all inputs (tensors of equal rank) broadcast to; throws Shape error naming the
// inputs, the axis and the sizes.
SymShape broadcast_shape(InputFacts in);
// Throws Shape error unless axes are sorted, unique and within [0, rank).
void expect_axes(const std::vector<std::int64_t>& axes, int rank);
// Where the axes of the source stand after the permutation, sorted.
std::vector<std::int64_t> permuted_axes(const std::vector<std::int64_t>& axes, const Perm& perm);
// True when a size computed from positive symbols is never negative: judged at 1 and at a large
// value of each symbol, which is exact for what shape arithmetic consists of.
bool is_non_negative(const Dim& d);

}  // namespace treadle::ops
