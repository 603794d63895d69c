// Movement of elements.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/dynamic_shape.hpp"
#include "ops/gather_nd.hpp"
#include "ops/move.hpp"
#include "ops/one_hot.hpp"
#include "ops/shape_of.hpp"
#include "ops/slice_bounds.hpp"

namespace treadle::tf {
namespace {

constexpr std::int64_t kMostParts = 65536;  // that a node splits its input into, evenly

std::int64_t one_int(NodeContext& c, std::size_t i) {
  const auto v = c.constant_ints(i);
  check(v.size() == 1, ErrorKind::Shape, "input {} has {} elements, expected 1", i, v.size());
  return v[0];
}

ValueId slice_axis(NodeContext& c, ValueId x, std::int64_t axis, const Dim& start,
                   const Dim& length, std::int64_t step = 1) {
  return c.add1(make_op<ops::Slice>(axis, start, length, step), {x});
}

// Inputs 0…n−1 joined along `axis`.
ValueId concat(NodeContext& c, std::int64_t axis, std::size_t first, std::size_t count) {
  check(count > 0, ErrorKind::Parse, "the node has nothing to join");
  std::vector<ValueId> parts;
  for (std::size_t i = first; i < first + count; ++i) parts.push_back(c.in(i));
  axis = ops::normal_axis(axis, c.fact(first).rank());
  if (parts.size() == 1) return parts[0];
  return c.add1(make_op<ops::Concat>(axis), std::move(parts));
}

std::vector<ValueId> split_sizes(NodeContext& c, ValueId x, std::int64_t axis,
                                 const std::vector<Dim>& sizes) {
  std::vector<ValueId> out;
  Dim start = 0;
  for (const Dim& size : sizes) {
    out.push_back(slice_axis(c, x, axis, start, size));
    start = start + size;
  }
  return out;
}

// Fresh sizes, one for each element of input i, which is known only at run time.
SymShape unknown_sizes(NodeContext& c, std::size_t i) {
  const Fact& f = c.fact(i);
  check(f.rank() == 1 && f.shape[0].is_const(), ErrorKind::Unsupported,
        "input {} is {}: the rank of the result is not known", i, f.str());
  SymShape sizes;
  for (std::int64_t k = 0; k < f.shape[0].value(); ++k)
    sizes.push_back(c.graph().fresh_symbol(c.name()));
  return sizes;
}

std::pair<SymShape, SymShape> paddings(NodeContext& c, std::size_t i, int rank) {
  const auto all = c.symbolic(i);
  check(all.size() == 2 * static_cast<std::size_t>(rank), ErrorKind::Shape,
        "input {} has {} elements, expected {}", i, all.size(), 2 * rank);
  SymShape before, after;
  for (std::size_t a = 0; a < static_cast<std::size_t>(rank); ++a) {
    before.push_back(all[2 * a]);
    after.push_back(all[2 * a + 1]);
  }
  return {before, after};
}

}  // namespace

namespace {

// Begin and size of a Slice that only the run knows: to the end where the size is −1.
ValueId dynamic_slice(NodeContext& c) {
  const SymShape shape = c.fact(0).shape;
  const auto known = c.fact(2).symbolic();
  SymShape sizes;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const bool fixed = known && a < known->size() && !(*known)[a].is(-1);
    sizes.push_back(fixed ? (*known)[a] : c.graph().fresh_symbol(c.name()));
  }
  Graph& g = c.graph();
  const ValueId begin = ops::cast(g, c.fresh_name(), c.in(1), DType::I64);
  const ValueId size = ops::cast(g, c.fresh_name(), c.in(2), DType::I64);
  const ValueId all = c.add1(make_op<ops::ShapeOf>(), {c.in(0)});
  const ValueId end = ops::binary(g, c.fresh_name(), ops::BinaryFn::Add, begin, size);
  const ValueId open = ops::binary(g, c.fresh_name(), ops::BinaryFn::Less, size,
                                   ops::scalar_like(g, c.fresh_name(), 0, size));
  const ValueId ends = ops::select(g, c.fresh_name(), open, all, end);
  return c.add1(make_op<ops::DynamicSlice>(std::move(sizes)), {c.in(0), begin, ends});
}

}  // namespace

std::vector<ValueId> import_reshape(NodeContext& c) {
  if (!c.fact(1).symbolic()) {
    SymShape sizes = unknown_sizes(c, 1);
    return {c.add1(make_op<ops::DynamicReshape>(std::move(sizes), true), {c.in(0), c.in(1)})};
  }
  return {ops::reshape(c.graph(), c.fresh_name(), c.in(0),
                       ops::reshape_target(c.fact(0).shape, c.symbolic(1), true))};
}

std::vector<ValueId> import_expand_dims(NodeContext& c) {
  return {ops::unsqueeze(c.graph(), c.fresh_name(), c.in(0),
                         {ops::normal_axis(one_int(c, 1), c.fact(0).rank() + 1)})};
}

std::vector<ValueId> import_squeeze(NodeContext& c) {
  auto axes = ops::normal_axes(c.ints_attr("squeeze_dims"), c.fact(0).rank());
  if (axes.empty()) {
    check_sizes(is_const(c.fact(0).shape), c.fact(0).shape,
                "which axes of {} have size 1 must be known", str(c.fact(0).shape));
    for (int i = 0; i < c.fact(0).rank(); ++i) {
      if (c.fact(0).shape[static_cast<std::size_t>(i)].is(1)) axes.push_back(i);
    }
  }
  return {ops::squeeze(c.graph(), c.fresh_name(), c.in(0), axes)};
}

std::vector<ValueId> import_transpose(NodeContext& c) {
  const auto axes = c.constant_ints(1);
  const int rank = c.fact(0).rank();
  check(ops::normal_axes(axes, rank).size() == static_cast<std::size_t>(rank), ErrorKind::Shape,
        "input 1 'perm' has {} elements, expected {}", axes.size(), rank);
  Perm perm;
  for (std::int64_t a : axes) perm.push_back(static_cast<int>(ops::normal_axis(a, rank)));
  return {ops::transpose(c.graph(), c.fresh_name(), c.in(0), perm)};
}

std::vector<ValueId> import_concat(NodeContext& c) {
  return {concat(c, one_int(c, 0), 1, c.inputs() - 1)};
}

std::vector<ValueId> import_concat_v2(NodeContext& c) {
  check(c.inputs() >= 2, ErrorKind::Parse, "the node has {} inputs, expected at least 2",
        c.inputs());
  return {concat(c, one_int(c, c.inputs() - 1), 0, c.inputs() - 1)};
}

std::vector<ValueId> import_pack(NodeContext& c) {
  check(c.inputs() > 0, ErrorKind::Parse, "the node has no inputs");
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", 0), c.fact(0).rank() + 1);
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    parts.push_back(ops::unsqueeze(c.graph(), c.fresh_name() + "/part", c.in(i), {axis}));
  }
  if (parts.size() == 1) return parts;
  return {c.add1(make_op<ops::Concat>(axis), std::move(parts))};
}

std::vector<ValueId> import_unpack(NodeContext& c) {
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", 0), c.fact(0).rank());
  const std::int64_t num = c.int_attr("num", 0);
  check(num >= 0 && num <= kMostParts, ErrorKind::Parse, "attribute 'num' is {}", num);
  const Dim& size = c.fact(0).shape[static_cast<std::size_t>(axis)];
  check_sizes(size.is(num), {size}, "axis {} has size {}, attribute 'num' is {}", axis, size.str(),
              num);
  std::vector<ValueId> out;
  for (ValueId part :
       split_sizes(c, c.in(0), axis, std::vector<Dim>(static_cast<std::size_t>(num), Dim(1)))) {
    out.push_back(ops::squeeze(c.graph(), c.fresh_name(), part, {axis}));
  }
  return out;
}

std::vector<ValueId> import_split(NodeContext& c) {
  const std::int64_t axis = ops::normal_axis(one_int(c, 0), c.fact(1).rank());
  const std::int64_t num = c.int_attr("num_split", 1);
  check(num > 0 && num <= kMostParts, ErrorKind::Parse, "attribute 'num_split' is {}", num);
  const Dim& size = c.fact(1).shape[static_cast<std::size_t>(axis)];
  const auto each = exact_div(size, num);
  check_sizes(each.has_value(), {size}, "axis {} of size {} does not split into {} parts", axis,
              size.str(), num);
  return split_sizes(c, c.in(1), axis, std::vector<Dim>(static_cast<std::size_t>(num), *each));
}

std::vector<ValueId> import_split_v(NodeContext& c) {
  const std::int64_t axis = ops::normal_axis(one_int(c, 2), c.fact(0).rank());
  const Dim& total = c.fact(0).shape[static_cast<std::size_t>(axis)];
  auto sizes = c.symbolic(1);
  Dim sum = 0;
  std::size_t open = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is(-1)) {
      check(open == sizes.size(), ErrorKind::Shape, "input 1 'size_splits' has more than one -1");
      open = i;
    } else {
      sum = sum + sizes[i];
    }
  }
  if (open < sizes.size())
    sizes[open] = total - sum;
  else
    check_sizes(sum == total, {sum, total}, "parts add up to {}, axis {} has size {}", sum.str(),
                axis, total.str());
  return split_sizes(c, c.in(0), axis, sizes);
}

std::vector<ValueId> import_slice(NodeContext& c) {
  if (!c.fact(1).symbolic() || !c.fact(2).symbolic()) return {dynamic_slice(c)};
  const auto begin = c.symbolic(1), size = c.symbolic(2);
  const SymShape shape = c.fact(0).shape;
  check(begin.size() == shape.size() && size.size() == shape.size(), ErrorKind::Shape,
        "inputs 'begin' and 'size' have {} and {} elements, expected {}", begin.size(), size.size(),
        shape.size());
  ValueId x = c.in(0);
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const Dim length = size[a].is(-1) ? shape[a] - begin[a] : size[a];
    if (begin[a].is(0) && length == shape[a]) continue;
    x = slice_axis(c, x, static_cast<std::int64_t>(a), begin[a], length);
  }
  return {x};
}

std::vector<ValueId> import_pad(NodeContext& c) {
  ops::Pad pad;
  std::tie(pad.before, pad.after) = paddings(c, 1, c.fact(0).rank());
  std::vector<ValueId> inputs{c.in(0)};
  if (c.inputs() > 2) inputs.push_back(c.in(2));
  return {c.add1(make_op<ops::Pad>(std::move(pad)), std::move(inputs))};
}

std::vector<ValueId> import_mirror_pad(NodeContext& c) {
  ops::Pad pad;
  const std::string mode = c.string_attr("mode", "REFLECT");
  check(mode == "REFLECT" || mode == "SYMMETRIC", ErrorKind::Parse, "attribute 'mode' is '{}'",
        mode);
  pad.mode = mode == "REFLECT" ? ops::PadMode::Reflect : ops::PadMode::Symmetric;
  std::tie(pad.before, pad.after) = paddings(c, 1, c.fact(0).rank());
  return {c.add1(make_op<ops::Pad>(std::move(pad)), {c.in(0)})};
}

namespace {

// Gather with batch_dims: the leading axes of both are walked together. x's axis is brought next to
// them, then each index is a tuple of one.
ValueId batch_gather(NodeContext& c, std::int64_t axis, std::int64_t batch) {
  const int rank = c.fact(0).rank();
  check(axis >= batch && batch <= c.fact(1).rank(), ErrorKind::Shape,
        "attribute 'batch_dims' is {} for axis {} and indices of shape {}", batch, axis,
        str(c.fact(1).shape));
  Perm to_front;
  for (int i = 0; i < batch; ++i) to_front.push_back(i);
  to_front.push_back(static_cast<int>(axis));
  for (int i = static_cast<int>(batch); i < rank; ++i)
    if (i != axis) to_front.push_back(i);
  const ValueId x = ops::transpose(c.graph(), c.fresh_name(), c.in(0), to_front);
  const ValueId at = ops::unsqueeze(c.graph(), c.fresh_name(), c.in(1), {c.fact(1).rank()});
  const ValueId y = c.add1(make_op<ops::GatherNd>(batch), {x, at});
  // y: batch axes, the indices' other axes, x's axes without `axis`.
  const int own = c.fact(1).rank() - static_cast<int>(batch);
  const int before = static_cast<int>(axis - batch);
  Perm back;
  for (int i = 0; i < batch; ++i) back.push_back(i);
  for (int i = 0; i < before; ++i) back.push_back(static_cast<int>(batch) + own + i);
  for (int i = 0; i < own; ++i) back.push_back(static_cast<int>(batch) + i);
  for (int i = static_cast<int>(batch) + own + before; i < c.graph().fact(y).rank(); ++i)
    back.push_back(i);
  return ops::transpose(c.graph(), c.fresh_name(), y, back);
}

}  // namespace

std::vector<ValueId> import_gather(NodeContext& c) {
  const std::int64_t axis = ops::normal_axis(c.inputs() > 2 ? one_int(c, 2) : 0, c.fact(0).rank());
  std::int64_t batch = c.int_attr("batch_dims", 0);
  if (batch < 0) batch += c.fact(1).rank();
  check(batch >= 0 && batch <= c.fact(0).rank(), ErrorKind::Shape, "attribute 'batch_dims' is {}",
        batch);
  if (batch > 0) return {batch_gather(c, axis, batch)};
  return {c.add1(make_op<ops::Gather>(axis), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_tile(NodeContext& c) {
  if (!c.fact(1).symbolic())
    return {c.add1(make_op<ops::DynamicTile>(unknown_sizes(c, 1)), {c.in(0), c.in(1)})};
  const auto repeats = c.symbolic(1);
  return {c.add1(make_op<ops::Tile>(SymShape(repeats.begin(), repeats.end())), {c.in(0)})};
}

std::vector<ValueId> import_reverse(NodeContext& c) {
  ValueId x = c.in(0);
  for (std::int64_t axis : ops::normal_axes(c.constant_ints(1), c.fact(0).rank())) {
    const Dim& size = c.fact(0).shape[static_cast<std::size_t>(axis)];
    x = slice_axis(c, x, axis, size - 1, size, -1);
  }
  return {x};
}

std::vector<ValueId> import_one_hot(NodeContext& c) {
  const auto depth = c.symbolic(1);
  check(depth.size() == 1, ErrorKind::Shape, "input 1 'depth' has {} elements, expected 1",
        depth.size());
  const std::int64_t axis = ops::normal_axis(c.int_attr("axis", -1), c.fact(0).rank() + 1);
  const ValueId on = ops::reshape(c.graph(), c.fresh_name() + "/on", c.in(2), {1});
  const ValueId off = ops::reshape(c.graph(), c.fresh_name() + "/off", c.in(3), {1});
  const ValueId values = c.add1(make_op<ops::Concat>(0), {off, on});
  // A negative index is no class; the core operator would count it from the end.
  ValueId index = c.in(0);
  if (const DType t = c.fact(0).dtype; t == DType::I32 || t == DType::I64 || t == DType::I8) {
    Graph& g = c.graph();
    index = ops::cast(g, c.fresh_name(), index, DType::I64);
    const ValueId none = ops::scalar_like(g, c.fresh_name(), 9e15, index);
    const ValueId negative = ops::binary(g, c.fresh_name(), ops::BinaryFn::Less, index,
                                         ops::scalar_like(g, c.fresh_name(), 0, index));
    index = ops::select(g, c.fresh_name(), negative, none, index);
  }
  return {c.add1(make_op<ops::OneHot>(axis, depth[0]), {index, values})};
}

}  // namespace treadle::tf
