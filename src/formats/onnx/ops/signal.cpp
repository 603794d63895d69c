// DFT, STFT, MelWeightMatrix.
#include "formats/onnx/ops/move_helpers.hpp"
#include "ops/dft.hpp"

namespace treadle::onnx {
namespace {

// The one integer that input i holds as an expression, or nothing when it is not known.
std::optional<Dim> scalar_dim(NodeContext& c, std::size_t i) {
  const auto known = c.symbolic(i);
  if (!known) return std::nullopt;
  check(known->size() == 1, ErrorKind::Shape, "input {} has {} elements, expected 1", i,
        known->size());
  return (*known)[0];
}

// `size` when it is there, else a fresh symbol.
Dim known_or_fresh(NodeContext& c, const std::optional<Dim>& size, std::string_view hint) {
  return size ? *size : c.graph().fresh_symbol(hint);
}

}  // namespace

std::vector<ValueId> import_dft(NodeContext& c) {
  auto op = std::make_shared<ops::Dft>();
  op->inverse = c.int_attr("inverse", 0) != 0;
  op->onesided = c.int_attr("onesided", 0) != 0;
  const int rank = c.fact(0).rank();
  check(rank >= 2, ErrorKind::Shape, "input 0 has shape {}, expected [..., 1] or [..., 2]",
        str(c.fact(0).shape));
  const bool as_input = c.opset() >= 20;
  ValueId axis_value;
  std::optional<std::int64_t> axis;
  if (as_input && c.has(2)) {
    axis_value = c.in(2);
    if (const auto known = c.constant_ints(2)) {
      check(known->size() == 1, ErrorKind::Shape, "input 2 'axis' has {} elements", known->size());
      axis = (*known)[0];
    }
  } else {
    axis = as_input ? -2 : c.int_attr("axis", 1);
    axis_value = int_constant(c, *axis);
  }
  std::optional<Dim> length;
  if (c.has(1)) length = scalar_dim(c, 1);
  op->shape = c.fact(0).shape;
  if (axis) {
    const std::int64_t at = ops::normal_axis(*axis, rank);
    check(at < rank - 1, ErrorKind::Shape, "axis {} of {} holds the parts of a number", *axis,
          str(op->shape));
    Dim& size = op->shape[static_cast<std::size_t>(at)];
    if (!c.has(1)) length = op->inverse && op->onesided ? (size - 1) * 2 : size;
    if (length && op->onesided && !op->inverse) length = floor_div(*length, 2) + 1;
    const bool before = length && (!c.has(1) || known_before(c, {*length}, &c.fact(0)));
    size = before ? *length : c.graph().fresh_symbol("dft");
  } else if (c.has(1) || op->onesided) {
    const SymShape fresh = fresh_sizes(c, "dft", static_cast<std::size_t>(rank - 1));
    std::copy(fresh.begin(), fresh.end(), op->shape.begin());
  }
  op->shape.back() = op->inverse && op->onesided ? 1 : 2;
  return {c.add1(std::move(op), {c.in(0), c.has(1) ? c.in(1) : ValueId{}, axis_value})};
}

std::vector<ValueId> import_stft(NodeContext& c) {
  auto op = std::make_shared<ops::Stft>();
  op->onesided = c.int_attr("onesided", 1) != 0;
  const SymShape signal = c.fact(0).shape;
  check(signal.size() == 3, ErrorKind::Shape,
        "input 0 'signal' has shape {}, expected [batch, length, 1 or 2]", str(signal));
  const auto step = scalar_dim(c, 1);
  std::optional<Dim> length;
  if (c.has(3)) {
    length = scalar_dim(c, 3);
  } else {
    length = c.has(2) ? elements(c.fact(2).shape) : signal[1];
  }
  std::optional<Dim> frames, bins = length;
  if (length && step && step->is_const() && step->value() > 0) {
    frames = floor_div(signal[1] - *length, *step) + 1;
    if (!known_before(c, {*frames}, &c.fact(0))) frames.reset();
  }
  if (bins && op->onesided) bins = floor_div(*length, 2) + 1;
  if (bins && !known_before(c, {*bins}, &c.fact(0))) bins.reset();
  op->shape = {signal[0], known_or_fresh(c, frames, "frames"), known_or_fresh(c, bins, "bins"), 2};
  const auto optional = [&](std::size_t i) { return c.has(i) ? c.in(i) : ValueId{}; };
  return {c.add1(std::move(op), {c.in(0), c.in(1), optional(2), optional(3)})};
}

std::vector<ValueId> import_mel_weight_matrix(NodeContext& c) {
  auto op = std::make_shared<ops::MelWeights>();
  op->dtype = dtype_attr(c, "output_datatype", DType::F32);
  std::optional<Dim> mels = scalar_dim(c, 0), length = scalar_dim(c, 1);
  if (mels && !mels->is_const()) mels.reset();
  if (length && !length->is_const()) length.reset();
  if (length) length = floor_div(*length, 2) + 1;
  op->shape = {known_or_fresh(c, length, "bins"), known_or_fresh(c, mels, "mels")};
  return {c.add1(std::move(op), {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)})};
}

}  // namespace treadle::onnx
