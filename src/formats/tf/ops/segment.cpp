// Rows of a tensor joined by the segment that each belongs to.
#include <limits>

#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/move.hpp"
#include "ops/scatter_nd.hpp"

namespace treadle::tf {
namespace {

using ops::ScatterReduce;

// The largest element of the type, or the lowest. 64-bit integers have some that f64 does not.
double extreme(NodeContext& c, bool largest) {
  const DType t = c.fact(0).dtype;
  const auto of = [&]<typename T>(T) {
    return static_cast<double>(largest ? std::numeric_limits<T>::max()
                                       : std::numeric_limits<T>::lowest());
  };
  switch (t) {
    case DType::F32:
      return of(0.0f);
    case DType::F64:
      return of(0.0);
    case DType::I8:
      return of(std::int8_t{});
    case DType::I16:
      return of(std::int16_t{});
    case DType::I32:
      return of(std::int32_t{});
    case DType::U8:
      return of(std::uint8_t{});
    case DType::U16:
      return of(std::uint16_t{});
    case DType::U32:
      return of(std::uint32_t{});
    default:
      fail(ErrorKind::Unsupported,
           "input 0 is {}, expected f32, f64 or integers of at most 32 bits", name_of(t));
  }
}

void check_rows(NodeContext& c) {
  check(c.fact(1).rank() == 1, ErrorKind::Unsupported,
        "input 1 'segment_ids' has shape {}, expected a vector", str(c.fact(1).shape));
  check(c.fact(0).rank() > 0, ErrorKind::Shape, "input 0 is a scalar");
}

// [count, rows…] of `fill`, into which the rows, of the type of input 0, are scattered at `ids`.
ValueId joined(NodeContext& c, const Dim& count, ValueId ids, ValueId rows, ScatterReduce reduce,
               double fill) {
  Graph& g = c.graph();
  SymShape shape = c.fact(0).shape;
  shape[0] = count;
  const ValueId base = c.add1(make_op<ops::Expand>(std::move(shape)),
                              {ops::scalar_like(g, c.fresh_name(), fill, c.in(0))});
  const ValueId at = ops::unsqueeze(g, c.fresh_name(), ids, {1});
  return c.add1(make_op<ops::ScatterNd>(reduce), {base, at, rows});
}

// The same without the rows whose id is negative: `fill`, which changes no row, goes to the first
// row in their place. That row is there also when there are no segments.
ValueId joined_or_dropped(NodeContext& c, const Dim& count, ScatterReduce reduce, double fill) {
  check_rows(c);
  const ValueId ids = c.in(1), zero = c.scalar(0, ids);
  SymShape column{c.fact(1).shape.at(0)};
  for (int i = 1; i < c.fact(0).rank(); ++i) column.push_back(1);
  const ValueId dropped =
      ops::reshape(c.graph(), c.fresh_name(), c.binary(ops::BinaryFn::Less, ids, zero), column);
  // As many rows as ids: select would repeat a single row.
  ValueId rows = c.in(0);
  SymShape shape = c.fact(0).shape;
  shape[0] = column[0];
  if (shape != c.fact(0).shape) rows = ops::reshape(c.graph(), c.fresh_name(), rows, shape);
  rows = c.select(dropped, c.scalar(fill, rows), rows);
  const Dim held = count.is_const() && count.value() > 0 ? count : max(count, Dim(1));
  const ValueId all = joined(c, held, c.binary(ops::BinaryFn::Max, ids, zero), rows, reduce, fill);
  if (held == count) return all;
  return c.add1(make_op<ops::Slice>(0, Dim(0), count), {all});
}

}  // namespace

// Segments without rows hold 0, 1, the lowest or the highest number; rows of negative ids are
// dropped.
std::vector<ValueId> import_unsorted_segment(NodeContext& c) {
  const auto count = c.symbolic(2);
  check(count.size() == 1, ErrorKind::Shape, "input 2 'num_segments' has {} elements",
        count.size());
  const std::string_view op = c.node().op;
  if (op == "UnsortedSegmentSum") return {joined_or_dropped(c, count[0], ScatterReduce::Add, 0)};
  if (op == "UnsortedSegmentProd") return {joined_or_dropped(c, count[0], ScatterReduce::Mul, 1)};
  const bool max = op == "UnsortedSegmentMax";
  return {joined_or_dropped(c, count[0], max ? ScatterReduce::Max : ScatterReduce::Min,
                            extreme(c, !max))};
}

// Sorted ids, of which the last says how many segments there are; those without rows hold 0, and 1
// for products.
std::vector<ValueId> import_segment(NodeContext& c) {
  check_rows(c);
  const auto ids = c.constant_ints(1);
  std::int64_t before = 0;
  std::vector<float> counts;
  for (std::int64_t id : ids) {
    check(id >= before && id < (1 << 24), ErrorKind::Shape,
          "input 1 'segment_ids' is not sorted, or holds {}", id);
    before = id;
    counts.resize(static_cast<std::size_t>(id) + 1, 0);
    counts.back() += 1;
  }
  const Dim count(static_cast<std::int64_t>(counts.size()));
  const std::string_view op = c.node().op;
  if (op == "SegmentSum") return {joined(c, count, c.in(1), c.in(0), ScatterReduce::Add, 0)};
  Shape column{count.value()};
  for (int i = 1; i < c.fact(0).rank(); ++i) column.push_back(1);
  if (op == "SegmentMean") {
    for (float& n : counts) n = std::max(n, 1.0f);
    const ValueId sum = joined(c, count, c.in(1), c.in(0), ScatterReduce::Add, 0);
    const ValueId n = ops::cast(c.graph(), c.fresh_name(),
                                c.constant(Tensor::from<float>(column, counts)), c.fact(0).dtype);
    return {ops::binary(c.graph(), c.fresh_name(), ops::BinaryFn::Div, sum, n)};
  }
  if (op == "SegmentProd") return {joined(c, count, c.in(1), c.in(0), ScatterReduce::Mul, 1)};
  const bool max = op == "SegmentMax";
  const double endless = std::numeric_limits<double>::infinity();
  const double start = is_float(c.fact(0).dtype) ? (max ? -endless : endless) : extreme(c, !max);
  const ValueId all =
      joined(c, count, c.in(1), c.in(0), max ? ScatterReduce::Max : ScatterReduce::Min, start);
  const ValueId rows = c.constant(Tensor::from<float>(column, counts));
  return {c.select(c.binary(ops::BinaryFn::Equal, rows, c.scalar(0, rows)), c.scalar(0, all), all)};
}

}  // namespace treadle::tf
