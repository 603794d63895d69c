// What the importers of the neural-network operators share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/onnx/importer.hpp"
#include "ops/spatial.hpp"

namespace treadle::onnx::nn {

// auto_pad and pads for `count` spatial axes; zeros when neither is given. Throws Parse errors.
ops::Padding padding_attrs(NodeContext& ctx, int count);
// An attribute with one entry a spatial axis, `fallback` in each when it is absent.
std::vector<std::int64_t> spatial_attr(NodeContext& ctx, std::string_view attr, int count,
                                       std::int64_t fallback);
// The data input's count of spatial axes; throws Shape error when its rank is below 3.
int spatial_count(NodeContext& ctx, std::size_t input);
// 0, 1, …, count−1 from `first`.
std::vector<std::int64_t> axes_from(std::int64_t first, std::int64_t count);

// The value of an optional input; one that is omitted when the file leaves it out.
ValueId optional_input(NodeContext& ctx, std::size_t i);
// A value of one element as a scalar; others, and symbolic sizes, stay.
ValueId as_scalar(NodeContext& ctx, ValueId v);
// A scalar f32 constant.
ValueId f32(NodeContext& ctx, float value);
// x[…, start : start + length, …] along `axis`.
ValueId slice(NodeContext& ctx, ValueId x, std::int64_t axis, const Dim& start, const Dim& length,
              std::int64_t step = 1);
ValueId concat(NodeContext& ctx, std::vector<ValueId> values, std::int64_t axis);
// The builders of ops/build.hpp under a fresh name.
ValueId binary(NodeContext& ctx, ops::BinaryFn fn, ValueId a, ValueId b);
ValueId cast(NodeContext& ctx, ValueId x, DType to);
ValueId reshape(NodeContext& ctx, ValueId x, SymShape shape);
ValueId transpose(NodeContext& ctx, ValueId x, const Perm& perm);
ValueId unsqueeze(NodeContext& ctx, ValueId x, std::vector<std::int64_t> axes);
ValueId squeeze(NodeContext& ctx, ValueId x, std::vector<std::int64_t> axes);
// size / by, which must go in evenly where it is known; else throws Shape error naming `what`.
Dim divide(const Dim& size, std::int64_t by, std::string_view what);

}  // namespace treadle::onnx::nn
