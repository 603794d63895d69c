// (x − mean x)/√(mean (x − mean x)² + ε) → Norm(x) centred (LayerNorm, InstanceNorm);
// x/√(mean x² + ε) → Norm(x) not centred (RMSNorm). Leaves fewer operators.
#include "ops/norm.hpp"
#include "ops/reduce.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

using ops::BinaryFn;
using ops::Reduce;
using ops::UnaryFn;
using Axes = std::vector<std::int64_t>;

const Reduce* mean_of(const Graph& g, ValueId v) {
  const auto* op = made_by<Reduce>(g, v);
  return op != nullptr && op->fn == ops::ReduceFn::Mean ? op : nullptr;
}

// x, when v is x − mean(x) over the axes.
std::optional<ValueId> centred(const Graph& g, ValueId v, const Axes& axes) {
  const auto in = binary_inputs(g, v, BinaryFn::Sub);
  if (!in) return std::nullopt;
  const auto* mean = mean_of(g, in->second);
  if (mean == nullptr || mean->axes != axes) return std::nullopt;
  if (input_of(g, in->second) != in->first) return std::nullopt;
  return in->first;
}

// x, when v is (x − mean(x))² over the axes.
std::optional<ValueId> deviation(const Graph& g, ValueId v, const Axes& axes) {
  if (const auto d = squared(g, v)) return centred(g, *d, axes);
  const auto in = binary_inputs(g, v, BinaryFn::SquaredDifference);
  if (!in) return std::nullopt;
  const auto* mean = mean_of(g, in->second);
  if (mean == nullptr || mean->axes != axes) return std::nullopt;
  return input_of(g, in->second) == in->first ? std::optional(in->first) : std::nullopt;
}

// a and u, when n is a/√u.
std::optional<std::pair<ValueId, ValueId>> over_root(const Graph& g, const Node& n) {
  const ValueId v = output_of(n);
  if (const auto in = binary_inputs(g, v, BinaryFn::Div)) {
    const auto u = rooted(g, in->second);
    return u ? std::optional(std::pair(in->first, *u)) : std::nullopt;
  }
  const auto in = binary_inputs(g, v, BinaryFn::Mul);
  if (!in) return std::nullopt;
  if (const auto u = unary_input(g, in->second, UnaryFn::Rsqrt)) return std::pair(in->first, *u);
  if (const auto u = unary_input(g, in->first, UnaryFn::Rsqrt)) return std::pair(in->second, *u);
  return std::nullopt;
}

}  // namespace

std::optional<Patch> recognise_norm(const Graph& g, const Node& n) {
  if (!is_float(n.outputs[0].fact.dtype)) return std::nullopt;
  const auto parts = over_root(g, n);
  if (!parts) return std::nullopt;
  const auto [a, u] = *parts;
  const auto sum = shifted(g, u);
  const ValueId mean = sum ? sum->x : u;
  const double epsilon = sum ? sum->c : 0;
  const auto* reduce = mean_of(g, mean);
  if (reduce == nullptr || epsilon < 0) return std::nullopt;
  const ValueId power = input_of(g, mean);
  if (const auto x = deviation(g, power, reduce->axes); x && centred(g, a, reduce->axes) == x) {
    return rewrite(g, n, make_op<ops::Norm>(reduce->axes, epsilon, true), {*x});
  }
  if (squared(g, power) == a) {
    return rewrite(g, n, make_op<ops::Norm>(reduce->axes, epsilon, false), {a});
  }
  return std::nullopt;
}

}  // namespace treadle::passes
