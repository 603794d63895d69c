// What the scatter operators share.
#pragma once

#include <cstdint>

#include "graph/operator.hpp"

namespace treadle::ops {

// How an update meets the element that is there. Min and Max: NaN wins.
enum class ScatterReduce : std::uint8_t { None, Add, Mul, Min, Max };

const char* name_of(ScatterReduce r);
// Throws Type error when elements of `dtype` cannot be reduced so (strings, complex).
void check_reduce(ScatterReduce r, DType dtype);
// to[to_at + i] = reduce(to[to_at + i], from[from_at + i]) for i below count; later updates see
// earlier ones. Bool: Add is or, Mul is and.
void scatter_run(ScatterReduce r, DType dtype, void* to, std::int64_t to_at, const void* from,
                 std::int64_t from_at, std::int64_t count);

}  // namespace treadle::ops
