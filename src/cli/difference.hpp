// How far one tensor is from another.
#pragma once

#include <string>

#include "tensor/tensor.hpp"

namespace treadle::cli {

// A float element may differ by absolute + relative × the largest finite magnitude of the
// reference.
struct Tolerance {
  double absolute = 1e-4;
  double relative = 1e-4;
};

struct Difference {
  bool equal = false;
  double max_abs = 0;       // over elements that are finite in both
  double max_rel = 0;       // max_abs over the reference's largest magnitude
  double largest = 0;       // the reference's largest finite magnitude
  std::int64_t where = -1;  // the element of max_abs, or the first that cannot be compared
  std::string note;         // why it is no match, where numbers do not say
};

// Floats by tolerance (any two float types), NaN equals NaN, infinities their like; everything else
// exactly, and then the dtypes must be equal.
Difference difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

// "max difference 1.2e-05 (relative 3.1e-06)" or the note.
std::string describe(const Difference& d);

}  // namespace treadle::cli
