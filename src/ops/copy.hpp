// Copying elements of any dtype, strings included.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/operator.hpp"

namespace treadle::ops {

// Copies `count` elements: to[to_at + i] = from[from_at + i].
void copy_run(DType dtype, void* to, std::int64_t to_at, const void* from, std::int64_t from_at,
              std::int64_t count);

// One side of a strided copy; the offset and the strides count elements, a stride may be 0 or
// negative.
struct Strided {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

// For each index vector i below `shape`: to[to.offset + Σ i·to.strides] = from[…]. The caller has
// checked that both sides stay inside their buffers.
void copy_strided(DType dtype, std::span<const std::int64_t> shape, void* to, const Strided& to_at,
                  const void* from, const Strided& from_at);

// Row-major strides of `shape`.
std::vector<std::int64_t> row_major(std::span<const std::int64_t> shape);

// Sets `count` elements to zero (strings: empty).
void fill_zero(DType dtype, void* to, std::int64_t count);

// Calls f(TensorView&) with the place of output i, which must have the given dtype and shape (Shape
// error otherwise). String tensors are allocated here and handed over after f.
template <typename F>
void write_output(EvalContext& ctx, std::size_t i, DType dtype, const Shape& shape, F&& f) {
  if (dtype == DType::String) {
    Tensor t(dtype, shape);
    TensorView v = t.view();
    f(v);
    ctx.set_output(i, std::move(t));
    return;
  }
  TensorView& v = ctx.output(i);
  check(v.shape == shape, ErrorKind::Shape, "output {} has shape {}, but the inputs give {}", i,
        v.shape.str(), shape.str());
  f(v);
}

// The same for an output that the operator allocates because its size is known only now.
template <typename F>
void allocate_output(EvalContext& ctx, std::size_t i, DType dtype, const Shape& shape, F&& f) {
  Tensor t(dtype, shape);
  TensorView v = t.view();
  f(v);
  ctx.set_output(i, std::move(t));
}

// The values of a symbolic shape.
Shape shape_of(EvalContext& ctx, const SymShape& shape);

// Calls f(index vector) for every index below `shape`, row-major.
template <typename F>
void for_each_index(const Shape& shape, F&& f) {
  const std::int64_t n = shape.elements();
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::int64_t k = 0; k < n; ++k) {
    f(at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace treadle::ops
