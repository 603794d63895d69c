#include "base/shape.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace treadle {

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) fail(ErrorKind::Shape, "size {} * {} overflows 64 bits", a, b);
  return r;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) fail(ErrorKind::Shape, "size {} + {} overflows 64 bits", a, b);
  return r;
}

Shape::Shape(std::span<const std::int64_t> dims) {
  check(dims.size() <= kMaxRank, ErrorKind::Shape, "rank {} is above the limit of {}", dims.size(),
        kMaxRank);
  for (std::int64_t d : dims) push_back(d);
}

void Shape::push_back(std::int64_t dim) { insert(rank_, dim); }

void Shape::insert(int at, std::int64_t dim) {
  check(rank_ < kMaxRank, ErrorKind::Shape, "rank {} is above the limit of {}", rank_ + 1, kMaxRank);
  check(dim >= 0, ErrorKind::Shape, "a size must not be negative, got {}", dim);
  std::copy_backward(dims_.begin() + at, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
  dims_[static_cast<std::size_t>(at)] = dim;
  ++rank_;
}

void Shape::erase(int at) {
  std::copy(dims_.begin() + at + 1, dims_.begin() + rank_, dims_.begin() + at);
  --rank_;
  dims_[static_cast<std::size_t>(rank_)] = 0;
}

std::int64_t Shape::elements() const {
  std::int64_t n = 1;
  // A zero anywhere makes the product zero, whatever the others multiply to.
  if (std::find(begin(), end(), 0) != end()) return 0;
  for (std::int64_t d : *this) n = checked_mul(n, d);
  return n;
}

Shape Shape::strides() const {
  Shape s = *this;
  std::int64_t n = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    s[static_cast<std::size_t>(i)] = n;
    n = checked_mul(n, std::max<std::int64_t>(dims_[static_cast<std::size_t>(i)], 1));
  }
  return s;
}

std::string Shape::str() const {
  std::string s = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i) s += ", ";
    s += std::to_string(dims_[static_cast<std::size_t>(i)]);
  }
  return s + "]";
}

bool Shape::operator==(const Shape& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }

}  // namespace treadle
