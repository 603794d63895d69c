#include "ops/facts.hpp"

#include <algorithm>

namespace treadle::ops {

void expect_inputs(InputFacts in, std::size_t count) {
  check(in.size() == count, ErrorKind::Shape, "expected {} inputs, got {}", count, in.size());
}

const Fact& tensor_input(InputFacts in, std::size_t i, std::string_view role) {
  check(i < in.size() && in[i] != nullptr, ErrorKind::Shape, "input {} '{}' is required", i, role);
  check(in[i]->kind == Fact::Kind::Tensor, ErrorKind::Type,
        "input {} '{}': expected a tensor, got {}", i, role, in[i]->str());
  return *in[i];
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

void expect_axes(const std::vector<std::int64_t>& axes, int rank) {
  std::int64_t last = -1;
  for (const std::int64_t a : axes) {
    check(a > last && a < rank, ErrorKind::Shape,
          "axis {}: expected sorted axes, each once, within [0, {})", a, rank);
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

}  // namespace treadle::ops
