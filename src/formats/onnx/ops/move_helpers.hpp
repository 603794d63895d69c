// What the importers of movement operators share.
#pragma once

#include "formats/onnx/importer.hpp"
#include "formats/onnx/ops/math_helpers.hpp"

namespace treadle::onnx {

// A rank-1 i64 constant.
ValueId ints_constant(NodeContext& c, const std::vector<std::int64_t>& values);
// A scalar i64 constant.
ValueId int_constant(NodeContext& c, std::int64_t value);
// One size of x as an i64 scalar.
ValueId size_value(NodeContext& c, ValueId x, std::int64_t axis);
// The axis attribute, counted from the end when negative, within [0, rank).
std::int64_t axis_attr(NodeContext& c, std::int64_t fallback, int rank);

// True when every symbol of `shape` comes from an input of the graph or from the shape of `x`: such
// sizes are known before the node that uses them runs, without an edge to where they were computed.
bool known_before(NodeContext& c, const SymShape& shape, const Fact* x = nullptr);
// The number of elements of rank-1 input i; throws Unsupported error when it is not known.
std::int64_t element_count(NodeContext& c, std::size_t i, std::string_view role);
// `count` new symbols.
SymShape fresh_sizes(NodeContext& c, std::string_view hint, std::size_t count);

// x[start : start + length : step] along an axis; x itself when that is all of it.
ValueId slice(NodeContext& c, ValueId x, std::int64_t axis, const Dim& start, const Dim& length,
              std::int64_t step = 1);
// x with numpy broadcasting to `shape` (a 1 stays what x has).
ValueId expand(NodeContext& c, ValueId x, const SymShape& shape);
// The seed attribute's bits; without one, FNV-1a of the node's name, so that loading the same model
// again gives the same elements.
std::uint64_t seed_of(NodeContext& c);
// The attribute `name` (a TensorProto.DataType) as a DType, or the fallback.
DType dtype_attr(NodeContext& c, std::string_view name, DType fallback);

}  // namespace treadle::onnx
