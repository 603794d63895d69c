// f(constants) → constant. Leaves fewer operators over constants.
//
// Not folded: what changes from run to run; results larger than the limit (4 times the inputs, or
// Limits::fold_bytes), but for weights of convolutions and matrix products, which kernels pack and
// let go. DequantizeLinear is left to fold_dequantised, which comes after the rules for integer
// kernels.
#include <algorithm>

#include "graph/basic_ops.hpp"
#include "graph/evaluate.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/conv_transpose.hpp"
#include "ops/quantize.hpp"
#include "ops/recurrent.hpp"
#include "passes/match.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

std::optional<Patch> as_constants(const Graph& g, const Node& n,
                                  const std::vector<std::shared_ptr<const Tensor>>& values) {
  Patch patch(g);
  for (std::uint32_t k = 0; k < values.size(); ++k) {
    if (g.use_count({n.id, k}) == 0) continue;
    const Fact& old = g.fact({n.id, k});
    if (!old.same_type(Fact::constant(*values[k]))) return std::nullopt;
    patch.replace({n.id, k}, patch.constant(g.value_name({n.id, k}), values[k]));
  }
  return patch;
}

// Bytes of all inputs, when all are known.
std::optional<std::int64_t> known_bytes(const Graph& g, const Node& n) {
  std::int64_t bytes = 0;
  for (const ValueId v : n.inputs) {
    if (!v.present()) continue;
    const Tensor* t = constant(g, v);
    if (t == nullptr) return std::nullopt;
    bytes += static_cast<std::int64_t>(t->bytes());
  }
  return bytes;
}

constexpr std::int64_t kWeightBytes = std::int64_t{512} << 20;

// Whether all uses of the value are as weights, perhaps after elements were moved or scaled.
bool is_weight(const Graph& g, ValueId v, int depth = 0) {
  if (g.uses(v).empty() || g.is_output(v) || depth > 4) return false;
  return std::ranges::all_of(g.uses(v), [&](const Use& u) {
    const Node& user = g.node(u.node);
    if (user.op->as<ops::Conv>() || user.op->as<ops::ConvTranspose>() ||
        user.op->as<ops::Recurrent>())
      return u.input > 0;
    if (user.op->as<ops::Contract>()) return true;
    return user.op->moves_elements() && user.inputs.size() == 1 &&
           is_weight(g, {user.id, 0}, depth + 1);
  });
}

bool small_enough(const Graph& g, const Node& n, std::int64_t input_bytes) {
  std::int64_t bytes = 0;
  for (const Output& o : n.outputs) {
    if (o.fact.kind != Fact::Kind::Tensor || !is_const(o.fact.shape)) return false;
    bytes = checked_add(bytes, checked_mul(concrete(o.fact.shape).elements(),
                                           static_cast<std::int64_t>(size_of(o.fact.dtype))));
  }
  if (bytes <= std::max(g.limits.fold_bytes, checked_mul(4, input_bytes))) return true;
  return bytes <= kWeightBytes && n.outputs.size() == 1 && is_weight(g, {n.id, 0});
}

std::optional<Patch> fold(const Graph& g, const Node& n) {
  std::vector<std::shared_ptr<const Tensor>> values;
  for (const Output& o : n.outputs) {
    if (o.fact.kind == Fact::Kind::Tensor && o.fact.value) values.push_back(o.fact.value);
  }
  if (values.size() == n.outputs.size()) return as_constants(g, n, values);

  const auto bytes = known_bytes(g, n);
  if (n.inputs.empty() || !bytes || !small_enough(g, n, *bytes)) return std::nullopt;
  std::vector<Value> held(n.inputs.size());
  std::vector<const Value*> inputs(n.inputs.size(), nullptr);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].present()) continue;
    held[i] = Value(*constant(g, n.inputs[i]));
    inputs[i] = &held[i];
  }
  values.clear();
  try {
    for (const Value& v : evaluate(*n.op, inputs)) {
      if (!v.is_tensor() || !v.tensor().defined()) return std::nullopt;
      values.push_back(std::make_shared<const Tensor>(v.tensor()));
    }
  } catch (const Error&) {
    // What fails on constants fails when it is run, where its place is named.
    return std::nullopt;
  }
  if (values.size() != n.outputs.size()) return std::nullopt;
  return as_constants(g, n, values);
}

}  // namespace

std::optional<Patch> fold_constants(const Graph& g, const Node& n) {
  if (n.inputs.empty() && n.op->as<Constant>() != nullptr) return std::nullopt;
  if (!n.op->pure() || !n.op->subgraphs().empty()) return std::nullopt;
  if (n.op->as<ops::DequantizeLinear>() != nullptr) return std::nullopt;
  return fold(g, n);
}

// Only what a kernel packs, or what is small: a table of embeddings stays in 8 bits.
std::optional<Patch> fold_dequantised(const Graph& g, const Node& n) {
  const Fact& out = n.outputs[0].fact;
  if (!is_const(out.shape)) return std::nullopt;
  const std::int64_t bytes =
      checked_mul(concrete(out.shape).elements(), static_cast<std::int64_t>(size_of(out.dtype)));
  if (bytes > g.limits.fold_bytes && !is_weight(g, output_of(n))) return std::nullopt;
  return fold(g, n);
}

}  // namespace treadle::passes
