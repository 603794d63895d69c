// Conv or Contract of dequantised 8-bit values → the product of the integers, scaled in f32:
//   product(DQ(x), DQ(w), DQ(bias)) → f32(product(x − x_zero, w − w_zero) + bias) · x_scale ·
//   w_scale
// where the kernels for bytes take it: the sums are then exact. Leaves fewer products in f32. The
// rules for what follows move bias and scale towards the product, so that it is scaled once, as
// ONNX Runtime computes these patterns; a scale becomes 1.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cast.hpp"
#include "ops/contract.hpp"
#include "ops/conv.hpp"
#include "ops/quantize.hpp"
#include "passes/dequantised.hpp"
#include "passes/rule.hpp"

namespace treadle::passes {
namespace {

// Weights of more taps do not fit the kernels' tables.
constexpr std::int64_t kMostTaps = 256;
// Sums of products keep within 31 bits.
constexpr std::int64_t kMostSum = std::int64_t{1} << 30;
// Of the scale of a bias, against the product of the others.
constexpr double kScaleTolerance = 1e-5;

Shape ones(int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(1);
  return s;
}

// Where the weights and their columns are; which axis of the output the columns are.
struct Place {
  std::size_t x = 0, w = 1;
  std::int64_t w_axis = 0, out_axis = 0;
  std::int64_t columns = 0, summed = 0;
};

std::optional<Place> conv_place(const Node& n, const ops::Conv& op, const Tensor& w) {
  const int rank = w.shape().rank();
  if (rank < 3 || rank > 5) return std::nullopt;
  const ops::WeightAxes axes = ops::weight_axes(op.weight_layout, rank);
  Place p;
  p.w_axis = axes.out;
  p.out_axis = ops::channel_axis(op.layout, rank);
  p.columns = w.shape()[static_cast<std::size_t>(axes.out)];
  if (p.columns == 0 || w.elements() == 0) return std::nullopt;
  p.summed = w.elements() / p.columns;
  const std::int64_t taps = p.summed / w.shape()[static_cast<std::size_t>(axes.in)];
  const Dim& channels = n.outputs[0].fact.shape[static_cast<std::size_t>(p.out_axis)];
  if (!channels.is(p.columns) || taps > kMostTaps) return std::nullopt;
  return p;
}

// A matrix of weights, a left factor whose summed axis is the last, columns at the end.
std::optional<Place> contract_place(const Graph& g, const Node& n, const ops::Contract& op,
                                    std::size_t w_input, const Tensor& w) {
  if (op.inputs.size() != 2 || op.output.empty() || w.shape().rank() != 2) return std::nullopt;
  Place p;
  p.w = w_input;
  p.x = 1 - w_input;
  const std::string &left = op.inputs[p.x], &right = op.inputs[p.w];
  const std::size_t column = right.find(op.output.back());
  if (column == std::string::npos || left.empty() ||
      left.find(op.output.back()) != std::string::npos)
    return std::nullopt;
  const char summed = right[1 - column];
  if (left.back() != summed || op.output.find(summed) != std::string::npos) return std::nullopt;
  // Letters of x alone that are summed, or axes that broadcast, are not for the kernels.
  for (const char letter : left) {
    if (letter != summed && op.output.find(letter) == std::string::npos) return std::nullopt;
  }
  p.w_axis = static_cast<std::int64_t>(column);
  p.out_axis = static_cast<std::int64_t>(op.output.size()) - 1;
  p.columns = w.shape()[column];
  p.summed = w.shape()[1 - column];
  const SymShape& out = n.outputs[0].fact.shape;
  if (w.elements() == 0 || !out.back().is(p.columns) ||
      !g.fact(n.inputs[p.x]).shape.back().is(p.summed)) {
    return std::nullopt;
  }
  return p;
}

struct Factors {
  Place place;
  Dequantised x, w;
};

std::optional<Factors> factors(const Graph& g, const Node& n) {
  if (n.inputs.size() < 2 || n.outputs[0].fact.dtype != DType::F32) return std::nullopt;
  for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
    auto w = dequantised(g, n.inputs[side]);
    auto x = dequantised(g, n.inputs[1 - side]);
    if (!w || !x || !w->movers.empty() || !x->scaling.single()) continue;
    const Tensor* weights = constant(g, w->q);
    if (weights == nullptr) continue;
    std::optional<Place> place;
    if (const auto* conv = n.op->as<ops::Conv>(); conv && side == 1)
      place = conv_place(n, *conv, *weights);
    if (const auto* contract = n.op->as<ops::Contract>())
      place = contract_place(g, n, *contract, side, *weights);
    if (!place || (!w->scaling.single() && w->scaling.axis != place->w_axis)) continue;
    if (place->summed > kMostSum / (255 * 255)) continue;
    return Factors{*place, std::move(*x), std::move(*w)};
  }
  return std::nullopt;
}

// w − zero in i32.
Tensor centred(const Tensor& w, const Scaling& s) {
  Tensor wide(DType::I32, w.shape());
  ops::convert_elements(w.view(), wide.view());
  const auto values = wide.mutable_span<std::int32_t>();
  std::int64_t inner = 1;
  for (int i = w.shape().rank() - 1; i > s.axis; --i)
    inner *= w.shape()[static_cast<std::size_t>(i)];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at =
        s.single() ? 0
                   : static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner) % s.zero.size();
    values[i] -= s.zero[at];
  }
  return wide;
}

// x_scale · w_scale, shaped to multiply the output.
Tensor scale_of(const Factors& f, int rank) {
  Shape shape = ones(rank);
  const std::vector<float>& w = f.w.scaling.scale;
  if (!f.w.scaling.single()) shape[static_cast<std::size_t>(f.place.out_axis)] = f.place.columns;
  Tensor t(DType::F32, shape);
  const auto values = t.mutable_span<float>();
  for (std::size_t i = 0; i < w.size(); ++i) values[i] = f.x.scaling.scale[0] * w[i];
  return t;
}

// What the sums of each column leave of 32 bits for a bias. (Where a channel's weights are next to
// nothing, the static quantiser of ONNX Runtime chooses a scale such that the bias takes nearly
// all.)
std::vector<std::int64_t> room_for_bias(const Tensor& w, std::int64_t axis) {
  std::int64_t inner = 1;
  for (int i = w.shape().rank() - 1; i > axis; --i) inner *= w.shape()[static_cast<std::size_t>(i)];
  std::vector<std::int64_t> room(
      static_cast<std::size_t>(w.shape()[static_cast<std::size_t>(axis)]),
      std::numeric_limits<std::int32_t>::max());
  const auto values = w.span<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto column = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner);
    room[column % room.size()] -= std::abs(std::int64_t{values[i]}) * 255;
  }
  return room;
}

// The integers n with DQ(n, scale), where the scale is that of the product.
std::vector<std::int32_t> dequantised_bias(const Graph& g, const Node& n,
                                           std::span<const float> want) {
  const Tensor *b = constant(g, n.inputs[0]), *scale = constant(g, n.inputs[1]);
  if (b == nullptr || b->dtype() != DType::I32 || scale == nullptr ||
      scale->dtype() != DType::F32 ||
      (scale->elements() != 1 && scale->elements() != b->elements())) {
    return {};
  }
  if (n.inputs.size() > 2 && n.inputs[2].present()) {
    const Tensor* zero = constant(g, n.inputs[2]);
    if (zero == nullptr || !std::ranges::all_of(zero->to_f64(), [](double z) { return z == 0; }))
      return {};
  }
  const auto scales = scale->span<float>();
  for (std::size_t i = 0; i < std::max(scales.size(), want.size()); ++i) {
    const double got = scales[scales.size() == 1 ? 0 : i], wanted = want[want.size() == 1 ? 0 : i];
    if (std::abs(got - wanted) > kScaleTolerance * wanted) return {};
  }
  const auto values = b->span<std::int32_t>();
  return {values.begin(), values.end()};
}

// The integers n that give the floats as n · scale, but for their rounding.
std::vector<std::int32_t> rounded_bias(const Tensor& b, std::span<const float> scale) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  constexpr double kRounding = 2.4e-7;  // two units in the last place
  if (b.dtype() != DType::F32) return {};
  std::vector<std::int32_t> out;
  for (const float v : b.span<float>()) {
    const double s = scale[scale.size() == 1 ? 0 : out.size()];
    const double n = std::nearbyint(static_cast<double>(v) / s);
    if (!(std::abs(n) <= kMost) ||
        std::abs(n * s - static_cast<double>(v)) > kRounding * std::abs(static_cast<double>(v)))
      return {};
    out.push_back(static_cast<std::int32_t>(n));
  }
  return out;
}

// A bias in units of the product's scale, one a column, each within its room; empty when it is
// something else.
std::vector<std::int32_t> integer_bias(const Graph& g, ValueId v, std::span<const float> scale,
                                       std::span<const std::int64_t> room) {
  std::vector<std::int32_t> values;
  if (const auto* op = made_by<ops::DequantizeLinear>(g, v);
      op && op->to == DType::F32 && op->block_size == 0 && g.fact(v).rank() == 1) {
    values = dequantised_bias(g, g.node(v.node), scale);
  } else if (const Tensor* b = constant(g, v); b && b->elements() == std::ssize(room)) {
    values = rounded_bias(*b, scale);
  }
  if (values.size() != room.size()) return {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(std::int64_t{values[i]}) > room[i]) return {};
  }
  return values;
}

bool adds_axes(const Graph& g, ValueId v) {
  return made_by<ops::Reshape>(g, v) || made_by<ops::Unsqueeze>(g, v);
}

// f32(sum) · c: the sum and c.
struct Scaled {
  ValueId sum;
  ValueId c;
};

std::optional<Scaled> scaled_sum(const Graph& g, ValueId v) {
  const auto product = binary_inputs(g, v, ops::BinaryFn::Mul);
  if (!product) return std::nullopt;
  const auto* cast = made_by<ops::Cast>(g, product->first);
  const Tensor* c = constant(g, product->second);
  if (cast == nullptr || cast->to != DType::F32 || c == nullptr || c->dtype() != DType::F32)
    return std::nullopt;
  const ValueId sum = input_of(g, product->first);
  if (g.fact(sum).dtype != DType::I32 || !used_once(g, v) || !used_once(g, product->first))
    return std::nullopt;
  return Scaled{sum, product->second};
}

}  // namespace

std::optional<Patch> integer_product(const Graph& g, const Node& n) {
  const auto f = factors(g, n);
  if (!f) return std::nullopt;
  const int rank = n.outputs[0].fact.rank();
  const Tensor scale = scale_of(*f, rank);
  const Tensor weights = centred(*constant(g, f->w.q), f->w.scaling);
  Patch patch(g);
  std::vector<ValueId> inputs(2);
  if (n.inputs.size() > 2 && n.inputs[2].present()) {
    const auto bias =
        integer_bias(g, n.inputs[2], scale.span<float>(), room_for_bias(weights, f->place.w_axis));
    if (bias.empty()) return std::nullopt;
    inputs.push_back(patch.constant(n.name + ".bias",
                                    Tensor::from<std::int32_t>(Shape{f->place.columns}, bias)));
  }
  ValueId x = f->x.q;
  for (const NodeId id : f->x.movers)
    x = patch.add1(g.node(id).name + ".bytes", g.node(id).op, {x});
  x = patch.add1(n.name + ".wide", make_op<ops::Cast>(DType::I32), {x});
  if (const std::int32_t zero = f->x.scaling.zero[0]; zero != 0) {
    const ValueId by = patch.constant(
        n.name + ".zero", Tensor::scalar<std::int32_t>(zero).reshaped(ones(patch.fact(x).rank())));
    x = patch.add1(n.name + ".centred", make_op<ops::Binary>(ops::BinaryFn::Sub), {x, by});
  }
  inputs[f->place.x] = x;
  inputs[f->place.w] = patch.constant(n.name + ".weights", weights);
  const ValueId sum = patch.add1(n.name + ".sum", n.op, std::move(inputs));
  const ValueId wide = patch.add1(n.name + ".float", make_op<ops::Cast>(DType::F32), {sum});
  const ValueId y = patch.add1(n.name, make_op<ops::Binary>(ops::BinaryFn::Mul),
                               {wide, patch.constant(n.name + ".scale", scale)});
  return replacing(g, std::move(patch), output_of(n), y);
}

// f32(sum) · c + DQ(b, c) → f32(sum + b) · c.
std::optional<Patch> integer_bias_of_product(const Graph& g, const Node& n) {
  const auto& op = *n.op->as<ops::Binary>();
  if (op.fn != ops::BinaryFn::Add) return std::nullopt;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const auto scaled = scaled_sum(g, n.inputs[side]);
    if (!scaled) continue;
    // Importers add axes to a bias; where it is not known, they stand between.
    ValueId bias = n.inputs[1 - side];
    if (g.fact(bias).shape.empty()) continue;
    while (!constant(g, bias) && adds_axes(g, bias)) bias = input_of(g, bias);
    const Fact& out = n.outputs[0].fact;
    const SymShape& shape = g.fact(n.inputs[1 - side]).shape;
    if (!out.shape.back().is_const() || !(shape.back() == out.shape.back())) continue;
    const std::int64_t columns = out.shape.back().value();
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
      if (!shape[i].is(1)) return std::nullopt;
    }
    const Tensor& c = *constant(g, scaled->c);
    if (c.elements() != 1 && (c.elements() != columns || c.shape().back() != columns)) continue;
    const std::vector<std::int64_t> room(static_cast<std::size_t>(columns), kMostSum - 1);
    const auto values = integer_bias(g, bias, c.span<float>(), room);
    if (values.empty()) continue;
    Patch patch(g);
    Shape along = ones(out.rank() - 1);
    along.push_back(columns);
    const ValueId by = patch.constant(n.name + ".bias", Tensor::from<std::int32_t>(along, values));
    const ValueId sum = patch.add1(n.name + ".sum", n.op, {scaled->sum, by});
    const ValueId wide = patch.add1(n.name + ".float", make_op<ops::Cast>(DType::F32), {sum});
    const ValueId y =
        patch.add1(n.name, make_op<ops::Binary>(ops::BinaryFn::Mul), {wide, scaled->c});
    return replacing(g, std::move(patch), output_of(n), y);
  }
  return std::nullopt;
}

// Q(clip?(f32(sum) · c), scale, zero) → Q(clip?(f32(sum) · (c / scale)), 1, zero).
std::optional<Patch> scale_into_quantize(const Graph& g, const Node& n) {
  const auto to = quantised_to(g, n);
  if (!to || !to->single() || to->scale[0] == 1.0f) return std::nullopt;
  const float scale = to->scale[0];
  ValueId v = n.inputs[0];
  const auto* act = made_by<ops::Unary>(g, v);
  const bool clips = act && (act->fn == ops::UnaryFn::Relu || act->fn == ops::UnaryFn::Clip);
  if (clips) {
    if (!used_once(g, v)) return std::nullopt;
    v = input_of(g, v);
  }
  const auto scaled = scaled_sum(g, v);
  if (!scaled) return std::nullopt;
  Tensor c = constant(g, scaled->c)->clone();
  for (float& value : c.mutable_span<float>()) {
    value /= scale;
    if (!std::isfinite(value)) return std::nullopt;
  }
  Patch patch(g);
  const ValueId wide = input_of(g, v, constant(g, input_of(g, v, 1)) ? 0 : 1);
  ValueId y = patch.add1(n.name + ".scaled", make_op<ops::Binary>(ops::BinaryFn::Mul),
                         {wide, patch.constant(n.name + ".factor", std::move(c))});
  if (clips) {
    auto clip = std::make_shared<ops::Unary>(*act);
    if (act->fn == ops::UnaryFn::Clip) {
      clip->a = static_cast<float>(act->a) / scale;
      clip->b = static_cast<float>(act->b) / scale;
    }
    y = patch.add1(n.name + ".clipped", std::move(clip), {y});
  }
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = y;
  inputs[1] = patch.constant(n.name + ".one",
                             Tensor::scalar(1.0f).reshaped(constant(g, n.inputs[1])->shape()));
  const ValueId q = patch.add1(n.name, n.op, std::move(inputs));
  return replacing(g, std::move(patch), output_of(n), q);
}

}  // namespace treadle::passes
