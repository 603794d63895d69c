#include "ops/stack.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "tensor/limit.hpp"

namespace treadle::ops {
namespace {

// What a loop may collect.
std::size_t max_bytes() {
  return static_cast<std::size_t>(std::min(TensorLimit::current(), std::int64_t{16} << 30));
}

// Copies `count` runs of `run` elements; they lie `from_step` and `to_step` elements apart.
void copy_runs(DType dtype, const void* from, std::int64_t from_step, void* to,
               std::int64_t to_step, std::int64_t run, std::int64_t count) {
  if (dtype == DType::String) {
    const auto* s = static_cast<const std::string*>(from);
    auto* d = static_cast<std::string*>(to);
    for (std::int64_t c = 0; c < count; ++c) {
      for (std::int64_t i = 0; i < run; ++i) d[c * to_step + i] = s[c * from_step + i];
    }
    return;
  }
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  if (run == 0) return;
  for (std::int64_t c = 0; c < count; ++c) {
    std::memcpy(static_cast<char*>(to) + c * to_step * size,
                static_cast<const char*>(from) + c * from_step * size,
                static_cast<std::size_t>(run * size));
  }
}

std::int64_t product(const Shape& shape, int begin, int end) {
  std::int64_t n = 1;
  for (int i = begin; i < end; ++i) n = checked_mul(n, shape[static_cast<std::size_t>(i)]);
  return n;
}

}  // namespace

void Stack::push(const Tensor& t) {
  if (count_ == 0) {
    dtype_ = t.dtype();
    shape_ = t.shape();
  }
  check(t.dtype() == dtype_, ErrorKind::Type, "iteration {} gives {}, the first gave {}", count_,
        name_of(t.dtype()), name_of(dtype_));
  check(t.shape() == shape_, ErrorKind::Shape, "iteration {} gives shape {}, the first gave {}",
        count_, t.shape().str(), shape_.str());
  ++count_;
  const std::size_t most = max_bytes();
  try {
    if (dtype_ == DType::String) {
      const auto s = t.span<std::string>();
      strings_.insert(strings_.end(), s.begin(), s.end());
      check(strings_.size() <= most / sizeof(std::string), ErrorKind::Memory,
            "the iterations gave more than {} bytes", most);
      return;
    }
    check(bytes_.size() <= most && t.bytes() <= most - bytes_.size(), ErrorKind::Memory,
          "the iterations gave more than {} bytes", most);
    if (t.bytes() == 0) return;
    const auto* data = static_cast<const std::byte*>(t.data());
    bytes_.insert(bytes_.end(), data, data + t.bytes());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::Memory, "out of memory after {} iterations", count_);
  }
}

Tensor Stack::take(int axis, bool reversed) const {
  Shape shape = shape_;
  shape.insert(axis, count_);
  Tensor result(dtype_, shape);
  const std::int64_t outer = product(shape_, 0, axis);
  const std::int64_t inner = product(shape_, axis, shape_.rank());
  const auto size = static_cast<std::int64_t>(size_of(dtype_));
  const auto* from = dtype_ == DType::String ? reinterpret_cast<const char*>(strings_.data())
                                             : reinterpret_cast<const char*>(bytes_.data());
  if (result.elements() == 0) return result;
  for (std::int64_t t = 0; t < count_; ++t) {
    const std::int64_t at = reversed ? count_ - 1 - t : t;
    copy_runs(dtype_, from + t * outer * inner * size, inner,
              static_cast<char*>(result.mutable_data()) + at * inner * size, count_ * inner, inner,
              outer);
  }
  return result;
}

Tensor slice_at(const Tensor& t, int axis, std::int64_t at) {
  Shape shape = t.shape();
  shape.erase(axis);
  return slice_range(t, axis, at, 1).reshaped(shape);
}

Tensor slice_range(const Tensor& t, int axis, std::int64_t at, std::int64_t count) {
  Shape shape = t.shape();
  const std::int64_t steps = shape[static_cast<std::size_t>(axis)];
  const std::int64_t outer = product(shape, 0, axis);
  const std::int64_t inner = product(shape, axis + 1, shape.rank());
  shape[static_cast<std::size_t>(axis)] = count;
  Tensor result(t.dtype(), shape);
  if (result.elements() == 0) return result;
  const auto size = static_cast<std::int64_t>(size_of(t.dtype()));
  copy_runs(t.dtype(), static_cast<const char*>(t.data()) + at * inner * size, steps * inner,
            result.mutable_data(), count * inner, count * inner, outer);
  return result;
}

Tensor concat(const std::vector<Tensor>& parts, int axis) {
  check(!parts.empty(), ErrorKind::Shape, "nothing to concatenate");
  Shape shape = parts[0].shape();
  check(axis >= 0 && axis < shape.rank(), ErrorKind::Shape, "shape {} has no axis {}", shape.str(),
        axis);
  const auto a = static_cast<std::size_t>(axis);
  shape[a] = 0;
  for (const Tensor& t : parts) {
    check(t.dtype() == parts[0].dtype(), ErrorKind::Type, "cannot concatenate {} with {}",
          name_of(t.dtype()), name_of(parts[0].dtype()));
    bool fits = t.rank() == shape.rank();
    for (std::size_t i = 0; fits && i < shape.size(); ++i)
      fits = i == a || t.shape()[i] == shape[i];
    check(fits, ErrorKind::Shape, "cannot concatenate shape {} with {} on axis {}", t.shape().str(),
          parts[0].shape().str(), axis);
    shape[a] = checked_add(shape[a], t.shape()[a]);
  }
  Tensor result(parts[0].dtype(), shape);
  if (result.elements() == 0) return result;
  const std::int64_t outer = product(shape, 0, axis);
  const std::int64_t inner = product(shape, axis + 1, shape.rank());
  const auto size = static_cast<std::int64_t>(size_of(result.dtype()));
  std::int64_t at = 0;
  for (const Tensor& t : parts) {
    const std::int64_t run = t.shape()[a] * inner;
    copy_runs(t.dtype(), t.data(), run, static_cast<char*>(result.mutable_data()) + at * size,
              shape[a] * inner, run, outer);
    at += run;
  }
  return result;
}

}  // namespace treadle::ops
