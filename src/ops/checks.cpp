#include "ops/checks.hpp"

#include <limits>

namespace treadle::ops {

const Fact& need(InputFacts in, std::size_t i, std::string_view op) {
  const Fact* f = maybe(in, i, op);
  check(f != nullptr, ErrorKind::Type, "{}: input {} is missing", op, i);
  return *f;
}

const Fact* maybe(InputFacts in, std::size_t i, std::string_view op) {
  if (i >= in.size() || in[i] == nullptr) return nullptr;
  check(in[i]->kind == Fact::Kind::Tensor, ErrorKind::Type, "{}: input {} is no tensor: {}", op, i,
        in[i]->str());
  return in[i];
}

void need_axis(std::int64_t axis, int rank, std::string_view op) {
  check(axis >= 0 && axis < rank, ErrorKind::Shape, "{}: axis {} is outside [0, {}) of the input",
        op, axis, rank);
}

void need_integer(const Fact& f, std::size_t i, std::string_view op) {
  check(is_integer(f.dtype), ErrorKind::Type, "{}: input {} must hold integers, got {}", op, i,
        f.str());
}

void need_dtype(const Fact& f, DType dtype, std::size_t i, std::string_view op) {
  check(f.dtype == dtype, ErrorKind::Type, "{}: input {} must be {}, got {}", op, i, name_of(dtype),
        f.str());
}

void need_rank(const Fact& f, int rank, std::size_t i, std::string_view op) {
  check(f.rank() == rank, ErrorKind::Shape, "{}: input {} must have rank {}, got {}", op, i, rank,
        f.str());
}

Dim agree(const Dim& a, const Dim& b, std::string_view op, std::string_view what) {
  if (a.is_const() && b.is_const()) {
    check(a == b, ErrorKind::Shape, "{}: {} differ: {} and {}", op, what, a.str(), b.str());
  }
  return b.is_const() ? b : a;
}

std::vector<std::int64_t> read_ints(const TensorView& v, std::string_view op) {
  std::vector<std::int64_t> out;
  if (!is_integer(v.dtype)) {
    fail(ErrorKind::Type, "{}: expected integers, got {}", op, name_of(v.dtype));
  }
  dispatch(v.dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      const auto from = v.span<T>();
      out.reserve(from.size());
      for (const T x : from) {
        if constexpr (std::is_same_v<T, std::uint64_t>) {
          check(x <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                ErrorKind::Shape, "{}: {} does not fit 64 signed bits", op, x);
        }
        out.push_back(static_cast<std::int64_t>(x));
      }
    }
  });
  return out;
}

std::int64_t wrap_index(std::int64_t index, std::int64_t size, std::string_view op,
                        std::int64_t axis) {
  if (index < -size || index >= size) [[unlikely]] {
    fail(ErrorKind::Shape, "{}: index {} is outside [{}, {}) of axis {}", op, index, -size, size,
         axis);
  }
  return index < 0 ? index + size : index;
}

AxisView axis_view(const Shape& shape, std::int64_t axis) {
  AxisView v;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t d = shape[static_cast<std::size_t>(i)];
    if (i < axis) v.outer = checked_mul(v.outer, d);
    if (i == axis) v.size = d;
    if (i > axis) v.inner = checked_mul(v.inner, d);
  }
  return v;
}

}  // namespace treadle::ops
