#include "passes/match.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/evaluate.hpp"
#include "ops/cast.hpp"

namespace treadle::passes {

using ops::Binary;
using ops::BinaryFn;
using ops::Unary;
using ops::UnaryFn;

namespace {

bool numeric(DType t) {
  return is_float(t) || is_integer(t);
}

double element(const Tensor& t) {
  return is_float(t.dtype()) ? t.to_f64()[0] : static_cast<double>(t.to_i64()[0]);
}

}  // namespace

std::optional<double> scalar(const Graph& g, ValueId v) {
  const Tensor* t = constant(g, v);
  if (t == nullptr || !numeric(t->dtype()) || t->elements() != 1) return std::nullopt;
  return element(*t);
}

std::optional<double> uniform(const Graph& g, ValueId v) {
  const Tensor* t = constant(g, v);
  constexpr std::int64_t kMaxElements = 1 << 16;
  if (t == nullptr || !numeric(t->dtype())) return std::nullopt;
  const std::int64_t count = t->elements();
  if (count == 0 || count > kMaxElements) return std::nullopt;
  if (count == 1) return element(*t);
  const std::size_t size = size_of(t->dtype());
  const auto* bytes = static_cast<const std::uint8_t*>(t->data());
  if (!std::equal(bytes + size, bytes + t->bytes(), bytes)) return std::nullopt;
  return element(*t);
}

bool near(double got, double want, DType dtype) {
  const bool narrow = dtype == DType::F16 || dtype == DType::BF16;
  const double tolerance = dtype == DType::BF16 ? 4e-3 : narrow ? 1e-3 : 1e-6;
  return std::abs(got - want) <= tolerance * std::max(std::abs(want), 1e-30);
}

bool is_scalar(const Graph& g, ValueId v, double want) {
  const auto c = scalar(g, v);
  return c && near(*c, want, g.fact(v).dtype);
}

std::optional<ValueId> unary_input(const Graph& g, ValueId v, UnaryFn fn) {
  const auto* op = made_by<Unary>(g, v);
  if (op == nullptr || op->fn != fn) return std::nullopt;
  return input_of(g, v);
}

std::optional<std::pair<ValueId, ValueId>> binary_inputs(const Graph& g, ValueId v, BinaryFn fn) {
  const auto* op = made_by<Binary>(g, v);
  if (op == nullptr || op->fn != fn) return std::nullopt;
  return std::pair(input_of(g, v, 0), input_of(g, v, 1));
}

std::optional<WithScalar> commuted_scalar(const Graph& g, ValueId v, BinaryFn fn) {
  const auto in = binary_inputs(g, v, fn);
  if (!in) return std::nullopt;
  if (const auto c = scalar(g, in->second)) return WithScalar{in->first, *c};
  if (const auto c = scalar(g, in->first)) return WithScalar{in->second, *c};
  return std::nullopt;
}

std::optional<WithScalar> scaled(const Graph& g, ValueId v) {
  if (!v.present() || !is_float(g.fact(v).dtype)) return std::nullopt;
  if (auto m = commuted_scalar(g, v, BinaryFn::Mul)) return m;
  const auto in = binary_inputs(g, v, BinaryFn::Div);
  if (!in) return std::nullopt;
  const auto c = scalar(g, in->second);
  if (!c || *c == 0) return std::nullopt;
  return WithScalar{in->first, 1 / *c};
}

std::optional<WithScalar> shifted(const Graph& g, ValueId v) {
  if (!v.present() || !is_float(g.fact(v).dtype)) return std::nullopt;
  if (auto m = commuted_scalar(g, v, BinaryFn::Add)) return m;
  const auto in = binary_inputs(g, v, BinaryFn::Sub);
  if (!in) return std::nullopt;
  const auto c = scalar(g, in->second);
  if (!c) return std::nullopt;
  return WithScalar{in->first, -*c};
}

std::optional<ValueId> squared(const Graph& g, ValueId v) {
  if (const auto x = unary_input(g, v, UnaryFn::Square)) return x;
  if (const auto in = binary_inputs(g, v, BinaryFn::Mul); in && in->first == in->second) {
    return in->first;
  }
  if (const auto in = binary_inputs(g, v, BinaryFn::Pow); in && is_scalar(g, in->second, 2)) {
    return in->first;
  }
  return std::nullopt;
}

std::optional<ValueId> rooted(const Graph& g, ValueId v) {
  if (const auto x = unary_input(g, v, UnaryFn::Sqrt)) return x;
  if (const auto in = binary_inputs(g, v, BinaryFn::Pow); in && is_scalar(g, in->second, 0.5)) {
    return in->first;
  }
  return std::nullopt;
}

std::optional<Patch> replacing(const Graph& g, Patch patch, ValueId from, ValueId to) {
  if (from == to || !g.fact(from).same_type(patch.fact(to))) return std::nullopt;
  patch.replace(from, to);
  return patch;
}

std::optional<Patch> bypass(const Graph& g, const Node& n, ValueId by) {
  return replacing(g, Patch(g), output_of(n), by);
}

std::optional<Patch> rewrite(const Graph& g, const Node& n, OperatorPtr op,
                             std::vector<ValueId> inputs) {
  Patch patch(g);
  const ValueId made = patch.add1(n.name, std::move(op), std::move(inputs));
  return replacing(g, std::move(patch), output_of(n), made);
}

bool moves_only_ones(const SymShape& shape, const Perm& perm) {
  int last = -1;
  for (const int axis : perm) {
    if (shape[static_cast<std::size_t>(axis)].is(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

SymShape permuted(const SymShape& shape, const Perm& perm) {
  SymShape out;
  out.reserve(perm.size());
  for (const int axis : perm) out.push_back(shape[static_cast<std::size_t>(axis)]);
  return out;
}

Tensor evaluate_constant(const Operator& op, const std::vector<Tensor>& inputs) {
  return evaluate(op, inputs).at(0);
}

Tensor scalar_tensor(DType dtype, int rank, double value) {
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(rank), 1);
  const Tensor f64 = Tensor::from<double>(Shape(std::span(ones)), std::span(&value, 1));
  return dtype == DType::F64 ? f64 : evaluate_constant(ops::Cast(dtype), {f64});
}

}  // namespace treadle::passes
