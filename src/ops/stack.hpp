// Collecting the tensors of iterations into one, and taking one out again.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.hpp"

namespace treadle::ops {

// Tensors of one dtype and shape, put side by side on a new axis.
class Stack {
 public:
  // Copies the elements. Throws Shape or Type error when they differ from the first's, Memory error
  // when there are too many.
  void push(const Tensor& t);
  bool empty() const { return count_ == 0; }
  // The tensors on a new axis `axis` (0 to their rank), the last first when `reversed`.
  Tensor take(int axis, bool reversed) const;

 private:
  DType dtype_ = DType::F32;
  Shape shape_;
  std::int64_t count_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::string> strings_;
};

// The part of `t` at index `at` of `axis`, without this axis.
Tensor slice_at(const Tensor& t, int axis, std::int64_t at);
// Indices at … at + count - 1 of `axis`, which must be there.
Tensor slice_range(const Tensor& t, int axis, std::int64_t at, std::int64_t count);
// Tensors joined on `axis`. Throws Type or Shape error when dtypes, ranks or other sizes differ.
Tensor concat(const std::vector<Tensor>& parts, int axis);

}  // namespace treadle::ops
