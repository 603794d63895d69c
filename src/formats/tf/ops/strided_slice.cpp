// StridedSlice with its five masks.
#include <bit>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/move.hpp"
#include "ops/slice_bounds.hpp"
#include "ops/symbolic_constant.hpp"

namespace treadle::tf {
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
  check(entries <= 63, ErrorKind::Parse, "input 3 'strides' has {} elements, expected 63 or less",
        entries);
  check(std::popcount(static_cast<std::uint64_t>(ellipsis)) <= 1, ErrorKind::Parse,
        "attribute 'ellipsis_mask' is {}, expected one bit or none", ellipsis);
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

// Bounds as far as they are known: all of a tensor's elements or none.
struct Bounds {
  std::optional<std::vector<Dim>> begin, end;
  std::vector<std::int64_t> strides;
  std::int64_t begin_mask = 0, end_mask = 0;

  bool from_start(std::size_t i) const { return ((begin_mask >> i) & 1) != 0; }
  bool to_end(std::size_t i) const { return ((end_mask >> i) & 1) != 0; }
};

Bounds bounds_of(NodeContext& c) {
  Bounds b{c.fact(1).symbolic(), c.fact(2).symbolic(), c.constant_ints(3),
           c.int_attr("begin_mask", 0), c.int_attr("end_mask", 0)};
  for (std::size_t i = 1; i < 3; ++i) {
    const Fact& f = c.fact(i);
    check_sizes(f.rank() == 1 && f.shape[0].is(static_cast<std::int64_t>(b.strides.size())),
                f.shape, "inputs 'begin', 'end', 'strides' have shapes {}, {}, {}",
                str(c.fact(1).shape), str(c.fact(2).shape), str(c.fact(3).shape));
  }
  return b;
}

// One index of the axis, which stays with size 1.
ValueId take_index(NodeContext& c, ValueId x, std::size_t axis, const SliceItem& item,
                   const Bounds& b) {
  const std::int64_t step = b.strides[item.at];
  check(step > 0, ErrorKind::Shape,
        "stride {} on axis {}, of which one index is taken, must be "
        "positive",
        step, axis);
  const auto along = static_cast<std::int64_t>(axis);
  if (!b.begin) {
    const auto at = static_cast<std::int64_t>(item.at);
    const ValueId index = c.add1(make_op<ops::Slice>(0, Dim(at), Dim(1)), {c.in(1)});
    return c.add1(make_op<ops::Gather>(along), {x, index});
  }
  const Dim& begin = (*b.begin)[item.at];
  const Dim size = c.graph().fact(x).shape[axis];
  Dim at = begin;
  if (at.is_const() && at.value() < 0) at = at + size;
  check(!at.is_const() || (at.value() >= 0 && (!size.is_const() || at.value() < size.value())),
        ErrorKind::Shape, "index {} is out of range for axis {} of size {}", begin.str(), axis,
        size.str());
  return c.add1(make_op<ops::Slice>(along, at, Dim(1)), {x});
}

// A bound that only the run knows, or one that its mask stands for, as a tensor of one element.
ValueId bound_value(NodeContext& c, std::size_t input, const SliceItem& item, bool masked,
                    std::int64_t limit) {
  if (masked) return c.constant(Tensor::of<std::int64_t>({1}, {limit}));
  const auto at = static_cast<std::int64_t>(item.at);
  const ValueId one = c.add1(make_op<ops::Slice>(0, Dim(at), Dim(1)), {c.in(input)});
  return ops::cast(c.graph(), c.fresh_name(), one, DType::I64);
}

// Backwards from before the first element there is nothing; ONNX would start at the first. The end
// is the last element then.
ValueId end_backwards(NodeContext& c, ValueId start, ValueId end, const Dim& size) {
  const ValueId before = c.add1(
      make_op<ops::SymbolicConstant>(std::vector<Dim>{Dim(0) - size}, DType::I64, SymShape{1}), {});
  const ValueId outside = c.binary(ops::BinaryFn::Less, start, before);
  return c.select(outside, c.constant(Tensor::of<std::int64_t>({1}, {INT64_MAX})), end);
}

ValueId take_range(NodeContext& c, ValueId x, std::size_t axis, const SliceItem& item,
                   const Bounds& b) {
  const std::int64_t step = b.strides[item.at];
  const bool from_start = b.from_start(item.at), to_end = b.to_end(item.at);
  const auto along = static_cast<std::int64_t>(axis);
  const Dim size = c.graph().fact(x).shape[axis];
  const std::int64_t low = step > 0 ? 0 : INT64_MAX, high = step > 0 ? INT64_MAX : INT64_MIN;
  if ((!b.begin && !from_start) || (!b.end && !to_end)) {
    SymShape sizes = c.graph().fact(x).shape;
    sizes[axis] = c.graph().fresh_symbol(c.name());
    const ValueId start = bound_value(c, 1, item, from_start, low);
    ValueId end = bound_value(c, 2, item, to_end, high);
    if (step < 0 && !from_start) end = end_backwards(c, start, end, size);
    return c.add1(make_op<ops::DynamicSlice>(std::move(sizes)),
                  {x, start, end, c.constant(Tensor::of<std::int64_t>({1}, {along})),
                   c.constant(Tensor::of<std::int64_t>({1}, {step}))});
  }
  const Dim begin = from_start ? Dim(low) : (*b.begin)[item.at];
  auto bounds = ops::slice_bounds(size, begin, to_end ? Dim(high) : (*b.end)[item.at], step);
  // See end_backwards.
  if (step < 0 && !begin.is(-1) && ops::counts_from_end(begin)) {
    bounds.length = min(bounds.length, max(size + begin + 1, Dim(0)));
  }
  if (bounds.start.is(0) && bounds.length == size && step == 1) return x;
  return c.add1(make_op<ops::Slice>(along, bounds.start, bounds.length, step), {x});
}

}  // namespace

std::vector<ValueId> import_strided_slice(NodeContext& c) {
  const Bounds b = bounds_of(c);
  ValueId x = c.in(0);
  std::vector<std::int64_t> removed, added;  // axes of the sliced input; of the result
  std::size_t axis = 0;
  std::int64_t out_axis = 0;
  for (const SliceItem& item : slice_items(c, b.strides.size(), c.fact(0).rank())) {
    if (item.kind == SliceItem::Kind::NewAxis) {
      added.push_back(out_axis++);
      continue;
    }
    if (item.kind == SliceItem::Kind::Shrink) {
      x = take_index(c, x, axis, item, b);
      removed.push_back(static_cast<std::int64_t>(axis));
    } else {
      if (!item.whole) x = take_range(c, x, axis, item, b);
      ++out_axis;
    }
    ++axis;
  }
  x = ops::squeeze(c.graph(), c.fresh_name(), x, removed);
  return {ops::unsqueeze(c.graph(), c.fresh_name(), x, added)};
}

}  // namespace treadle::tf
