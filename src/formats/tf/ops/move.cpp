// Movement of elements.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/move.hpp"
#include "ops/one_hot.hpp"
#include "ops/slice_bounds.hpp"

namespace treadle::tf {
namespace {

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

std::vector<ValueId> import_reshape(NodeContext& c) {
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
  const Dim& size = c.fact(0).shape[static_cast<std::size_t>(axis)];
  check(size.is(num), ErrorKind::Shape, "axis {} has size {}, attribute 'num' is {}", axis,
        size.str(), num);
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
  check(num > 0 && num <= 65536, ErrorKind::Parse, "attribute 'num_split' is {}", num);
  const Dim& size = c.fact(1).shape[static_cast<std::size_t>(axis)];
  const auto each = exact_div(size, num);
  check(each.has_value(), ErrorKind::Shape, "axis {} of size {} does not split into {} parts", axis,
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
    check(sum == total, ErrorKind::Shape, "parts add up to {}, axis {} has size {}", sum.str(),
          axis, total.str());
  return split_sizes(c, c.in(0), axis, sizes);
}

std::vector<ValueId> import_slice(NodeContext& c) {
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

namespace {

// One entry of a strided slice after the masks are read.
struct SliceItem {
  enum class Kind { Range, Shrink, NewAxis } kind = Kind::Range;
  std::size_t at =
      0;  // position in begin, end and strides; the entry takes the whole axis when none
  bool whole = false;
};

std::vector<SliceItem> slice_items(NodeContext& c, std::size_t entries, int rank) {
  const auto bit = [](std::int64_t mask, std::size_t i) {
    return i < 63 && ((mask >> i) & 1) != 0;
  };
  const std::int64_t ellipsis = c.int_attr("ellipsis_mask", 0),
                     new_axis = c.int_attr("new_axis_mask", 0),
                     shrink = c.int_attr("shrink_axis_mask", 0);
  check(entries <= 63 && (ellipsis & (ellipsis - 1)) == 0, ErrorKind::Parse,
        "attribute 'ellipsis_mask' is {}", ellipsis);
  std::size_t used = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    if (!bit(ellipsis, i) && !bit(new_axis, i)) ++used;
  }
  check(used <= static_cast<std::size_t>(rank), ErrorKind::Shape,
        "{} axes are sliced, the input has {}", used, rank);
  const std::size_t rest = static_cast<std::size_t>(rank) - used;
  std::vector<SliceItem> items;
  bool expanded = false;
  for (std::size_t i = 0; i < entries; ++i) {
    if (bit(ellipsis, i)) {
      items.insert(items.end(), rest, SliceItem{SliceItem::Kind::Range, i, true});
      expanded = true;
    } else if (bit(new_axis, i)) {
      items.push_back({SliceItem::Kind::NewAxis, i, false});
    } else {
      items.push_back(
          {bit(shrink, i) ? SliceItem::Kind::Shrink : SliceItem::Kind::Range, i, false});
    }
  }
  if (!expanded) items.insert(items.end(), rest, SliceItem{SliceItem::Kind::Range, 0, true});
  return items;
}

}  // namespace

std::vector<ValueId> import_strided_slice(NodeContext& c) {
  const auto begin = c.symbolic(1), end = c.symbolic(2);
  const auto strides = c.constant_ints(3);
  check(begin.size() == end.size() && begin.size() == strides.size(), ErrorKind::Shape,
        "inputs 'begin', 'end', 'strides' have {}, {}, {} elements", begin.size(), end.size(),
        strides.size());
  const std::int64_t begin_mask = c.int_attr("begin_mask", 0), end_mask = c.int_attr("end_mask", 0);
  const SymShape shape = c.fact(0).shape;
  ValueId x = c.in(0);
  std::vector<std::int64_t> removed, added;  // axes of the sliced input; of the result
  std::size_t axis = 0;
  std::int64_t out_axis = 0;
  for (const SliceItem& item : slice_items(c, begin.size(), static_cast<int>(shape.size()))) {
    if (item.kind == SliceItem::Kind::NewAxis) {
      added.push_back(out_axis++);
      continue;
    }
    const Dim& size = shape[axis];
    if (item.kind == SliceItem::Kind::Shrink) {
      check(strides[item.at] > 0, ErrorKind::Shape,
            "stride {} on axis {}, of which one index is taken, must be positive",
            strides[item.at], axis);
      Dim at = begin[item.at];
      if (at.is_const() && at.value() < 0) at = at + size;
      check(!at.is_const() || (at.value() >= 0 && (!size.is_const() || at.value() < size.value())),
            ErrorKind::Shape, "index {} is out of range for axis {} of size {}",
            begin[item.at].str(), axis, size.str());
      x = slice_axis(c, x, static_cast<std::int64_t>(axis), at, 1);
      removed.push_back(static_cast<std::int64_t>(axis));
    } else {
      if (!item.whole) {
        const std::int64_t step = strides[item.at];
        const bool from_start = ((begin_mask >> item.at) & 1) != 0,
                   to_end = ((end_mask >> item.at) & 1) != 0;
        const Dim first = from_start ? Dim(step > 0 ? 0 : INT64_MAX) : begin[item.at];
        const Dim last = to_end ? Dim(step > 0 ? INT64_MAX : INT64_MIN) : end[item.at];
        const auto bounds = ops::slice_bounds(size, first, last, step);
        if (!(bounds.start.is(0) && bounds.length == size && step == 1)) {
          x = slice_axis(c, x, static_cast<std::int64_t>(axis), bounds.start, bounds.length, step);
        }
      }
      ++out_axis;
    }
    ++axis;
  }
  x = ops::squeeze(c.graph(), c.fresh_name(), x, removed);
  return {ops::unsqueeze(c.graph(), c.fresh_name(), x, added)};
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

std::vector<ValueId> import_gather(NodeContext& c) {
  check(c.int_attr("batch_dims", 0) == 0, ErrorKind::Unsupported,
        "attribute 'batch_dims' is {}, expected 0", c.int_attr("batch_dims", 0));
  const std::int64_t axis = c.inputs() > 2 ? one_int(c, 2) : 0;
  return {
      c.add1(make_op<ops::Gather>(ops::normal_axis(axis, c.fact(0).rank())), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_tile(NodeContext& c) {
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
  return {c.add1(make_op<ops::OneHot>(axis, depth[0]), {c.in(0), values})};
}

}  // namespace treadle::tf
