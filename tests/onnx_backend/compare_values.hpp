// Comparing values as numpy's assert_allclose does.
#pragma once

#include <string>

#include "graph/value.hpp"

namespace treadle::backend {

struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-5;
};

// Empty when equal: same kind, dtype, shape; floats within atol + rtol · |expected|, where rtol is
// two units in the last place at least, NaN equal to NaN; everything else exactly. Otherwise says
// where and how they differ.
std::string difference(const Value& got, const Value& expected, const Tolerance& tolerance);

}  // namespace treadle::backend
