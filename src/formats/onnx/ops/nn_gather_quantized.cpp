// com.microsoft GatherBlockQuantized: rows of a table that is quantised in blocks.
#include <bit>

#include "formats/onnx/ops/move_helpers.hpp"
#include "formats/onnx/ops/nn_common.hpp"
#include "formats/onnx/ops/nn_nbits.hpp"
#include "formats/onnx/ops/nn_quantize.hpp"
#include "ops/move.hpp"

namespace treadle::onnx {

namespace {

using ops::BinaryFn;

// The attributes; axes are those of data.
struct Table {
  int rank = 0;
  std::int64_t gather_axis = 0, quantize_axis = 0, block = 0;
  std::int64_t bits = 0;  // of u8 data; 0 for others
  bool real = false;      // float8 or float4: no zero points, and scales broadcast
};

Table table_of(NodeContext& c) {
  const Fact& data = c.fact(0);
  Table t;
  t.rank = data.rank();
  t.gather_axis = ops::normal_axis(c.int_attr("gather_axis", 0), t.rank);
  t.quantize_axis = ops::normal_axis(c.int_attr("quantize_axis", 1), t.rank);
  t.block = c.int_attr("block_size", 128);
  t.real = is_narrow_float(data.dtype);
  check(t.real || data.dtype == DType::U8 || data.dtype == DType::I4 || data.dtype == DType::U4,
        ErrorKind::Type, "input 0 'data' is {}, expected u8, int4, uint4, float8 or float4",
        data.str());
  const bool whole = t.real && t.block == 0;
  check(whole || (t.block >= 16 && std::has_single_bit(static_cast<std::uint64_t>(t.block))),
        ErrorKind::Parse, "attribute 'block_size' is {}, expected a power of two from 16 on",
        t.block);
  const Dim& size = data.shape[static_cast<std::size_t>(t.quantize_axis)];
  if (whole) {
    check(size.is_const(), ErrorKind::Unsupported,
          "input 0 'data' has shape {}, expected a known size of the quantised axis",
          str(data.shape));
    t.block = std::max<std::int64_t>(size.value(), 1);
  }
  if (data.dtype != DType::U8) return t;
  t.bits = c.int_attr("bits", 4);
  check(t.bits == 2 || t.bits == 4 || t.bits == 8, ErrorKind::Parse,
        "attribute 'bits' is {}, expected 2, 4 or 8", t.bits);
  check(t.gather_axis == 0 && t.quantize_axis == t.rank - 1 && t.rank > 1, ErrorKind::Parse,
        "u8 data of rank {} with gather_axis {} and quantize_axis {}, expected the first and the "
        "last axis",
        t.rank, t.gather_axis, t.quantize_axis);
  return t;
}

// Scales of the shape that DequantizeLinear wants; those of real data may broadcast.
ValueId block_scales(NodeContext& c, const Table& t) {
  check(c.fact(2).rank() == t.rank, ErrorKind::Shape,
        "input 2 'scales' has shape {}, expected the rank of data, {}", str(c.fact(2).shape),
        t.rank);
  if (!t.real) return c.in(2);
  SymShape shape = c.fact(0).shape;
  shape[static_cast<std::size_t>(t.quantize_axis)] = 1;
  return expand(c, c.in(2), shape);
}

// Zero points of the scales' shape; none where they are 0.
ValueId block_zero_points(NodeContext& c, const Table& t, ValueId scales) {
  const SymShape shape = c.graph().fact(scales).shape;
  const ValueId given = nn::optional_input(c, 3);
  check(!given.present() || !t.real, ErrorKind::Parse, "input 3 'zero_points' with data of {}",
        name_of(c.fact(0).dtype));
  if (!given.present()) {
    if (t.bits == 0) return {};
    const auto middle = static_cast<std::uint8_t>(1 << (t.bits - 1));
    return expand(c, c.constant_value(Tensor::scalar(middle)), shape);
  }
  if (t.bits == 0) return given;
  check(c.fact(3).dtype == DType::U8 && c.fact(3).rank() == t.rank, ErrorKind::Type,
        "input 3 'zero_points' is {}, expected u8 of rank {}", c.fact(3).str(), t.rank);
  return slice(c, nn::unpacked(c, given, t.bits), t.rank - 1, 0, shape.back());
}

// v [gathered, …] with zeros where the index is out of range.
ValueId zero_outside(NodeContext& c, ValueId v, ValueId inside, int before, int after) {
  const int rank = c.graph().fact(inside).rank();
  std::vector<std::int64_t> axes = nn::axes_from(0, before);
  for (int i = 0; i < after; ++i) axes.push_back(before + rank + i);
  const ValueId mask = axes.empty() ? inside : nn::unsqueeze(c, inside, std::move(axes));
  const ValueId zero = ops::scalar_like(c.graph(), c.fresh_name(), 0, v);
  return ops::select(c.graph(), c.fresh_name(), mask, v, zero);
}

}  // namespace

// Inputs data, indices, scales, optional zero_points. What is gathered is dequantised, not the
// whole table, unless the axis of the blocks is gathered from. As in ONNX Runtime 1.32, an index
// out of range gives zeros.
std::vector<ValueId> import_gather_block_quantized(NodeContext& c) {
  const Table t = table_of(c);
  Graph& g = c.graph();
  const ValueId index = nn::cast(c, c.in(1), DType::I64);
  const ValueId size = size_value(c, c.in(0), t.gather_axis);
  const ValueId low = nn::binary(c, BinaryFn::Sub, int_constant(c, 0), size);
  const ValueId inside =
      nn::binary(c, BinaryFn::And, nn::binary(c, BinaryFn::GreaterEqual, index, low),
                 nn::binary(c, BinaryFn::Less, index, size));
  const ValueId zero = ops::scalar_like(g, c.fresh_name(), 0, index);
  const ValueId at = ops::select(g, c.fresh_name(), inside, index, zero);
  const auto gather = [&](ValueId v) {
    return v.present() ? c.add1(make_op<ops::Gather>(t.gather_axis), {v, at}) : v;
  };
  ValueId data = c.in(0), scales = block_scales(c, t);
  ValueId zero_points = block_zero_points(c, t, scales);
  std::int64_t axis = t.quantize_axis;
  const bool rows = t.gather_axis != t.quantize_axis;
  if (rows) {
    data = gather(data);
    scales = gather(scales);
    zero_points = gather(zero_points);
    if (axis > t.gather_axis) axis += g.fact(at).rank() - 1;
  }
  if (t.bits != 0) data = nn::unpacked(c, data, t.bits);
  ValueId y = nn::dequantize(c, data, scales, zero_points, axis, t.block);
  if (!rows) y = gather(y);
  const int before = static_cast<int>(t.gather_axis);
  return {zero_outside(c, y, inside, before, t.rank - before - 1)};
}

}  // namespace treadle::onnx
