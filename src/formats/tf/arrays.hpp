// TensorArrays and TensorLists as values of the graph.
//
// An array is one tensor: its elements, stacked on axis 0. As long as nothing was written to it and
// the file does not say what its elements look like, it is its length instead, an i64 scalar. The
// handle of a TensorArray is its length too; its flow is the array.
#pragma once

#include <string>

#include "graph/graph.hpp"

namespace treadle::tf {

inline bool is_unwritten(const Fact& array) {
  return array.kind == Fact::Kind::Tensor && array.rank() == 0 && array.dtype == DType::I64;
}

// An array of `length` (an integer scalar) elements that are zeros.
ValueId new_array(Graph& g, const std::string& name, ValueId length, DType dtype,
                  const SymShape& element);

}  // namespace treadle::tf
