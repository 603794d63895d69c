#include "passes/dequantised.hpp"

#include <cmath>

#include "ops/quantize.hpp"

namespace treadle::passes {
namespace {

// Scales with which x · scale / scale is x again for every difference of bytes.
bool is_plain(float scale) {
  constexpr float kLeast = 1e-30f, kMost = 1e30f;
  return scale >= kLeast && scale <= kMost;
}

bool is_byte(DType t) {
  return t == DType::U8 || t == DType::I8;
}

// Inputs 1 and 2 of the node.
std::optional<Scaling> scaling_of(const Graph& g, const Node& n, DType dtype, std::int64_t axis) {
  const Tensor* scale = constant(g, n.inputs[1]);
  if (scale == nullptr || scale->dtype() != DType::F32 || scale->elements() == 0)
    return std::nullopt;
  Scaling s;
  s.dtype = dtype;
  const auto values = scale->span<float>();
  s.scale.assign(values.begin(), values.end());
  for (const float v : s.scale) {
    if (!is_plain(v)) return std::nullopt;
  }
  s.zero.assign(s.scale.size(), 0);
  if (n.inputs.size() > 2 && n.inputs[2].present()) {
    const Tensor* zero = constant(g, n.inputs[2]);
    if (zero == nullptr || zero->elements() != scale->elements()) return std::nullopt;
    const std::vector<double> zeros = zero->to_f64();
    for (std::size_t i = 0; i < zeros.size(); ++i) s.zero[i] = static_cast<std::int32_t>(zeros[i]);
  }
  if (!s.single()) s.axis = axis;
  return s;
}

}  // namespace

std::optional<Dequantised> dequantised(const Graph& g, ValueId v) {
  Dequantised d;
  while (v.present() && v.slot == 0 && g.node(v.node).op->moves_elements() &&
         g.node(v.node).inputs.size() == 1) {
    d.movers.insert(d.movers.begin(), v.node);
    v = g.node(v.node).inputs[0];
  }
  const auto* op = v.present() ? made_by<ops::DequantizeLinear>(g, v) : nullptr;
  if (op == nullptr || op->to != DType::F32 || op->block_size != 0) return std::nullopt;
  const Node& n = g.node(v.node);
  d.q = n.inputs[0];
  const DType dtype = g.fact(d.q).dtype;
  if (!is_byte(dtype)) return std::nullopt;
  auto scaling = scaling_of(g, n, dtype, op->axis);
  if (!scaling || (!scaling->single() && !d.movers.empty())) return std::nullopt;
  d.scaling = std::move(*scaling);
  return d;
}

std::optional<Scaling> quantised_to(const Graph& g, const Node& n) {
  const auto* op = n.op->as<ops::QuantizeLinear>();
  if (op == nullptr || op->precision != DType::F32 || op->block_size != 0 || !is_byte(op->to) ||
      g.fact(n.inputs[0]).dtype != DType::F32) {
    return std::nullopt;
  }
  return scaling_of(g, n, op->to, op->axis);
}

}  // namespace treadle::passes
