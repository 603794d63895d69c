// What rules use to look at a graph.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/patch.hpp"
#include "ops/axis.hpp"
#include "ops/binary.hpp"
#include "ops/unary.hpp"

namespace treadle::passes {

// The node that makes v; null for an omitted value.
inline const Node* producer(const Graph& g, ValueId v) {
  return v.present() ? &g.node(v.node) : nullptr;
}

// The operator that makes v, when it is a T and v is its output 0.
template <typename T>
const T* made_by(const Graph& g, ValueId v) {
  return v.present() && v.slot == 0 ? g.node(v.node).op->as<T>() : nullptr;
}

// Input i of v's producer.
inline ValueId input_of(const Graph& g, ValueId v, std::size_t i = 0) {
  return g.node(v.node).inputs[i];
}

inline ValueId output_of(const Node& n) {
  return {n.id, 0};
}

// True when v is used in one place and is no output of the graph.
inline bool used_once(const Graph& g, ValueId v) {
  return g.use_count(v) == 1;
}

// Known elements of v, or null.
inline const Tensor* constant(const Graph& g, ValueId v) {
  return v.present() && g.fact(v).kind == Fact::Kind::Tensor ? g.fact(v).value.get() : nullptr;
}
// The value of a known tensor of one element (float or integer).
std::optional<double> scalar(const Graph& g, ValueId v);
// The same for a tensor all of whose elements are equal.
std::optional<double> uniform(const Graph& g, ValueId v);
// True when v is a known scalar within 1e-6 (relative) of `want`; 1e-3 for 16-bit types.
bool is_scalar(const Graph& g, ValueId v, double want);
bool near(double got, double want, DType dtype);

// The input of a Unary fn that makes v.
std::optional<ValueId> unary_input(const Graph& g, ValueId v, ops::UnaryFn fn);
// The operands of a Binary fn that makes v.
std::optional<std::pair<ValueId, ValueId>> binary_inputs(const Graph& g, ValueId v,
                                                         ops::BinaryFn fn);
// For Add and Mul: the operand that is not a known scalar, and that scalar.
struct WithScalar {
  ValueId x;
  double c;
};
std::optional<WithScalar> commuted_scalar(const Graph& g, ValueId v, ops::BinaryFn fn);
// x and c where v = x·c, written as x·c, c·x or x/(1/c); x+c as x+c, c+x or x−(−c).
std::optional<WithScalar> scaled(const Graph& g, ValueId v);
std::optional<WithScalar> shifted(const Graph& g, ValueId v);
// x where v = x², written as x·x, pow(x, 2) or Square(x).
std::optional<ValueId> squared(const Graph& g, ValueId v);
// x where v = √x, written as Sqrt(x) or pow(x, ½).
std::optional<ValueId> rooted(const Graph& g, ValueId v);

// The patch, when replacing `from` by `to` keeps the type; else nothing.
std::optional<Patch> replacing(const Graph& g, Patch patch, ValueId from, ValueId to);
// A patch that replaces n's only output by an existing value.
std::optional<Patch> bypass(const Graph& g, const Node& n, ValueId by);
// A patch that replaces n's only output by that of a new node of n's name.
std::optional<Patch> rewrite(const Graph& g, const Node& n, OperatorPtr op,
                             std::vector<ValueId> inputs);

// Only axes of size 1 move in Transpose(x of `shape`, perm): a reshape does the same.
bool moves_only_ones(const SymShape& shape, const Perm& perm);
SymShape permuted(const SymShape& shape, const Perm& perm);
// One operator on known tensors.
Tensor evaluate_constant(const Operator& op, const std::vector<Tensor>& inputs);
// A tensor of one element of the type, shaped [1, 1, …].
Tensor scalar_tensor(DType dtype, int rank, double value);

}  // namespace treadle::passes
