#include "ops/checks.hpp"

#include <algorithm>
#include <limits>

namespace treadle::ops {

void need_inputs(InputFacts in, std::size_t count) {
  check(in.size() == count, ErrorKind::Shape, "expected {} inputs, got {}", count, in.size());
}

const Fact& need(InputFacts in, std::size_t i) {
  const Fact* f = maybe(in, i);
  check(f != nullptr, ErrorKind::Type, "input {} is missing", i);
  return *f;
}

const Fact* maybe(InputFacts in, std::size_t i) {
  if (i >= in.size() || in[i] == nullptr) return nullptr;
  check(in[i]->kind == Fact::Kind::Tensor, ErrorKind::Type, "input {} must be a tensor, got {}", i,
        in[i]->str());
  return in[i];
}

void need_integer(const Fact& f, std::size_t i) {
  check(is_integer(f.dtype), ErrorKind::Type, "input {} must hold integers, got {}", i, f.str());
}

void need_dtype(const Fact& f, DType dtype, std::size_t i) {
  check(f.dtype == dtype, ErrorKind::Type, "input {} must be {}, got {}", i, name_of(dtype),
        f.str());
}

void need_rank(const Fact& f, int rank, std::size_t i) {
  check(f.rank() == rank, ErrorKind::Shape, "input {} must have rank {}, got {}", i, rank, f.str());
}

void need_axis(std::int64_t axis, int rank) {
  check(axis >= 0 && axis < rank, ErrorKind::Shape, "axis {} is outside [0, {})", axis, rank);
}

void need_axes(const std::vector<std::int64_t>& axes, int rank) {
  std::int64_t last = -1;
  for (const std::int64_t a : axes) {
    need_axis(a, rank);
    check(a > last, ErrorKind::Shape, "axes must be sorted and distinct, got {} after {}", a, last);
    last = a;
  }
}

std::vector<std::int64_t> permuted_axes(const std::vector<std::int64_t>& axes, const Perm& perm) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (std::ranges::find(axes, perm[i]) != axes.end()) out.push_back(static_cast<int>(i));
  }
  return out;
}

Dim agree(const Dim& a, const Dim& b, std::string_view what) {
  if (a.is_const() && b.is_const()) {
    check(a == b, ErrorKind::Shape, "{} differ: {} and {}", what, a.str(), b.str());
  }
  return b.is_const() ? b : a;
}

SymShape broadcast_shape(InputFacts in) {
  SymShape shape = in[0]->shape;
  for (std::size_t k = 1; k < in.size(); ++k) {
    const SymShape& other = in[k]->shape;
    check(other.size() == shape.size(), ErrorKind::Shape,
          "input {} has shape {}, expected rank {} as input 0 {}", k, str(other), shape.size(),
          str(in[0]->shape));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto x = shape[axis].as_const(), y = other[axis].as_const();
      check(
          !x || !y || *x == *y || *x == 1 || *y == 1, ErrorKind::Shape,
          "input {} has shape {}, which does not broadcast with input {} of shape {}: axis {} has "
          "{} and {}",
          k, str(other), k - 1, str(in[k - 1]->shape), axis, shape[axis].str(), other[axis].str());
      shape[axis] = broadcast(shape[axis], other[axis]);
    }
  }
  return shape;
}

bool is_non_negative(const Dim& d) {
  if (const auto v = d.as_const()) return *v >= 0;
  constexpr std::int64_t kLarge = 1 << 12;
  std::vector<std::string> names;
  d.collect_symbols(names);
  SymbolValues values;
  for (const auto& n : names) values[n] = 1;
  try {
    if (d.eval(values) < 0) return false;
    for (const auto& n : names) {
      values[n] = kLarge;
      if (d.eval(values) < 0) return false;
      values[n] = 1;
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<std::int64_t> read_ints(const TensorView& v) {
  std::vector<std::int64_t> out;
  if (!is_integer(v.dtype)) {
    fail(ErrorKind::Type, "expected integers, got {}", name_of(v.dtype));
  }
  dispatch(v.dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      const auto from = v.span<T>();
      out.reserve(from.size());
      for (const T x : from) {
        if constexpr (std::is_same_v<T, std::uint64_t>) {
          check(x <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                ErrorKind::Shape, "{} does not fit 64 signed bits", x);
        }
        out.push_back(static_cast<std::int64_t>(x));
      }
    }
  });
  return out;
}

std::int64_t wrap_index(std::int64_t index, std::int64_t size, std::int64_t axis) {
  if (index < -size || index >= size) [[unlikely]] {
    fail(ErrorKind::Shape, "index {} is outside [{}, {}) of axis {}", index, -size, size, axis);
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
