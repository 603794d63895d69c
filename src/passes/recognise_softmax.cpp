// e/Σe with e = exp(x − max x) or exp(x) → Softmax(x); Log(Softmax(x)) and x − LogSumExp(x) → its
// logarithm. Leaves fewer operators.
#include "ops/reduce.hpp"
#include "ops/softmax.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::BinaryFn;
using ops::Reduce;
using ops::ReduceFn;
using ops::Softmax;
using ops::UnaryFn;

// The axes, when v is fn(x) over them.
const std::vector<std::int64_t>* reduced(const Graph& g, ValueId v, ReduceFn fn, ValueId x) {
  const auto* op = made_by<Reduce>(g, v);
  if (op == nullptr || op->fn != fn || input_of(g, v) != x) return nullptr;
  return &op->axes;
}

std::optional<Patch> normalised(const Graph& g, const Node& n, ValueId power, ValueId sum) {
  const auto* axes = reduced(g, sum, ReduceFn::Sum, power);
  const auto z = unary_input(g, power, UnaryFn::Exp);
  if (axes == nullptr || !z) return std::nullopt;
  ValueId x = *z;
  if (const auto in = binary_inputs(g, *z, BinaryFn::Sub)) {
    const auto* max_axes = reduced(g, in->second, ReduceFn::Max, in->first);
    if (max_axes != nullptr && *max_axes == *axes) x = in->first;
  }
  return rewrite(g, n, make_op<Softmax>(*axes, false), {x});
}

}  // namespace

std::optional<Patch> recognise_softmax(const Graph& g, const Node& n) {
  const ValueId v = output_of(n);
  if (!is_float(g.fact(v).dtype)) return std::nullopt;
  if (const auto in = unary_input(g, v, UnaryFn::Log)) {
    const auto* softmax = made_by<Softmax>(g, *in);
    if (softmax == nullptr || softmax->log || !used_once(g, *in)) return std::nullopt;
    return rewrite(g, n, make_op<Softmax>(softmax->axes, true), {input_of(g, *in)});
  }
  if (const auto in = binary_inputs(g, v, BinaryFn::Div)) {
    return normalised(g, n, in->first, in->second);
  }
  if (const auto in = binary_inputs(g, v, BinaryFn::Mul)) {
    if (const auto sum = unary_input(g, in->second, UnaryFn::Reciprocal)) {
      return normalised(g, n, in->first, *sum);
    }
    if (const auto sum = unary_input(g, in->first, UnaryFn::Reciprocal)) {
      return normalised(g, n, in->second, *sum);
    }
  }
  if (const auto in = binary_inputs(g, v, BinaryFn::Sub)) {
    const auto* axes = reduced(g, in->second, ReduceFn::LogSumExp, in->first);
    if (axes != nullptr) return rewrite(g, n, make_op<Softmax>(*axes, true), {in->first});
  }
  return std::nullopt;
}

}  // namespace treadle::passes
