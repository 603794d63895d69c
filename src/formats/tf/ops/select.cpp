// Operators that choose elements by indices or values, and put them elsewhere.
#include "base/error.hpp"
#include "formats/tf/ops/operators.hpp"
#include "ops/axis.hpp"
#include "ops/cumulative.hpp"
#include "ops/gather_nd.hpp"
#include "ops/move.hpp"
#include "ops/non_zero.hpp"
#include "ops/reverse_sequence.hpp"
#include "ops/scatter_nd.hpp"
#include "ops/top_k.hpp"
#include "ops/trilu.hpp"
#include "ops/unique.hpp"

namespace treadle::tf {
namespace {

// Zeros of `dtype` whose sizes are the elements of input i.
ValueId zeros(NodeContext& c, std::size_t i, DType dtype) {
  const auto dims = c.symbolic(i);
  Shape ones;
  for (std::size_t k = 0; k < dims.size(); ++k) ones.push_back(1);
  const ValueId zero = c.constant(Tensor::zeros(dtype, ones));
  return c.add1(make_op<ops::Expand>(SymShape(dims.begin(), dims.end())), {zero});
}

// The length of index tuples, which a rank follows from.
void check_index_tuples(NodeContext& c, std::size_t i) {
  const SymShape& shape = c.fact(i).shape;
  check_sizes(!shape.empty() && shape.back().is_const(), shape,
              "input {} 'indices' has shape {}, whose last size must be known", i, str(shape));
}

std::vector<ValueId> cumulative(NodeContext& c, ops::CumulativeFn fn) {
  const auto axis = c.constant_ints(1);
  check(axis.size() == 1, ErrorKind::Shape, "input 1 'axis' has {} elements, expected 1",
        axis.size());
  return {c.add1(
      make_op<ops::Cumulative>(fn, ops::normal_axis(axis[0], c.fact(0).rank()),
                               c.bool_attr("exclusive", false), c.bool_attr("reverse", false)),
      {c.in(0)})};
}

}  // namespace

std::vector<ValueId> import_gather_nd(NodeContext& c) {
  check_index_tuples(c, 1);
  return {c.add1(make_op<ops::GatherNd>(), {c.in(0), c.in(1)})};
}

std::vector<ValueId> import_top_k(NodeContext& c) {
  const auto k = c.inputs() > 1 ? c.symbolic(1) : std::vector<Dim>{Dim(c.int_attr("k", 0))};
  check(k.size() == 1 && c.fact(0).rank() >= 1, ErrorKind::Shape,
        "input 1 'k' has {} elements, input 0 shape {}", k.size(), str(c.fact(0).shape));
  auto out = c.graph().add(c.fresh_name(), make_op<ops::TopK>(c.fact(0).rank() - 1, k[0], true),
                           {c.in(0)});
  out[1] = ops::cast(c.graph(), c.fresh_name(), out[1], c.type_attr("index_type", DType::I32));
  return out;
}

// Indices of the elements that are not zero, one a row.
std::vector<ValueId> import_where(NodeContext& c) {
  const ValueId at = c.add1(make_op<ops::NonZero>(c.graph().fresh_symbol(c.name())), {c.in(0)});
  return {ops::transpose(c.graph(), c.fresh_name(), at, {1, 0})};
}

std::vector<ValueId> import_cumsum(NodeContext& c) {
  return cumulative(c, ops::CumulativeFn::Sum);
}

std::vector<ValueId> import_cumprod(NodeContext& c) {
  return cumulative(c, ops::CumulativeFn::Prod);
}

// Updates that meet add up.
std::vector<ValueId> import_scatter_nd(NodeContext& c) {
  check_index_tuples(c, 0);
  const ValueId to = zeros(c, 2, c.fact(1).dtype);
  return {c.add1(make_op<ops::ScatterNd>(ops::ScatterReduce::Add), {to, c.in(0), c.in(1)})};
}

std::vector<ValueId> import_tensor_scatter(NodeContext& c) {
  check_index_tuples(c, 1);
  const std::string_view op = c.node().op;
  if (op == "TensorScatterSub") {
    const ValueId minus = ops::unary(c.graph(), c.fresh_name(), ops::UnaryFn::Neg, c.in(2));
    return {c.add1(make_op<ops::ScatterNd>(ops::ScatterReduce::Add), {c.in(0), c.in(1), minus})};
  }
  const auto reduce = op == "TensorScatterAdd"   ? ops::ScatterReduce::Add
                      : op == "TensorScatterMax" ? ops::ScatterReduce::Max
                      : op == "TensorScatterMin" ? ops::ScatterReduce::Min
                                                 : ops::ScatterReduce::None;
  return {c.add1(make_op<ops::ScatterNd>(reduce), {c.in(0), c.in(1), c.in(2)})};
}

// [rank, count]: coordinate k of index i, for indices into a tensor whose sizes input 1 holds.
std::vector<ValueId> import_unravel_index(NodeContext& c) {
  const auto dims = c.constant_ints(1);
  Graph& g = c.graph();
  std::vector<ValueId> rows;
  std::int64_t stride = 1;
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
    check(*d > 0, ErrorKind::Shape, "input 1 'dims' has a size {}", *d);
    const auto number = [&](std::int64_t v) {
      return ops::scalar_like(g, c.fresh_name(), static_cast<double>(v), c.in(0));
    };
    ValueId at = ops::binary(g, c.fresh_name(), ops::BinaryFn::Div, c.in(0), number(stride));
    at = ops::binary(g, c.fresh_name(), ops::BinaryFn::FloorMod, at, number(*d));
    rows.insert(rows.begin(), ops::unsqueeze(g, c.fresh_name(), at, {0}));
    stride = checked_mul(stride, *d);
  }
  check(!rows.empty(), ErrorKind::Shape, "input 1 'dims' is empty");
  return {c.add1(make_op<ops::Concat>(0), std::move(rows))};
}

std::vector<ValueId> import_reverse_sequence(NodeContext& c) {
  const int rank = c.fact(0).rank();
  return {c.add1(make_op<ops::ReverseSequence>(ops::normal_axis(c.int_attr("seq_dim", 0), rank),
                                               ops::normal_axis(c.int_attr("batch_dim", 0), rank)),
                 {c.in(0), c.in(1)})};
}

// Values in the order of their first appearance; for each element its place among them; and how
// often each appears.
std::vector<ValueId> import_unique(NodeContext& c) {
  check(c.fact(0).rank() == 1, ErrorKind::Unsupported, "input 0 has shape {}, expected a vector",
        str(c.fact(0).shape));
  const auto all = c.graph().add(
      c.fresh_name(), make_op<ops::Unique>(std::nullopt, false, c.graph().fresh_symbol(c.name())),
      {c.in(0)});
  const DType index = c.type_attr("out_idx", DType::I32);
  const auto cast = [&](ValueId v) { return ops::cast(c.graph(), c.fresh_name(), v, index); };
  return {all[0], cast(all[2]), cast(all[3])};
}

// Keeps the diagonals from `num_lower` below to `num_upper` above the main one; all when negative.
std::vector<ValueId> import_matrix_band_part(NodeContext& c) {
  const auto lower = c.constant_ints(1), upper = c.constant_ints(2);
  check(lower.size() == 1 && upper.size() == 1, ErrorKind::Shape,
        "inputs 1 and 2 have {} and {} elements, expected 1", lower.size(), upper.size());
  ValueId x = c.in(0);
  if (lower[0] >= 0) x = c.add1(make_op<ops::Trilu>(true, -lower[0]), {x});
  if (upper[0] >= 0) x = c.add1(make_op<ops::Trilu>(false, upper[0]), {x});
  return {x};
}

// Moves elements around each axis by its shift.
std::vector<ValueId> import_roll(NodeContext& c) {
  const auto shifts = c.constant_ints(1), axes = c.constant_ints(2);
  check(shifts.size() == axes.size(), ErrorKind::Shape, "{} shifts for {} axes", shifts.size(),
        axes.size());
  ValueId x = c.in(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = ops::normal_axis(axes[i], c.fact(0).rank());
    const Dim size = c.fact(0).shape[static_cast<std::size_t>(axis)];
    if (size.is(0)) continue;
    const Dim cut = mod(size - Dim(shifts[i]), size);
    const ValueId head = c.add1(make_op<ops::Slice>(axis, Dim(0), cut), {x});
    const ValueId tail = c.add1(make_op<ops::Slice>(axis, cut, size - cut), {x});
    x = c.add1(make_op<ops::Concat>(axis), {tail, head});
  }
  return {x};
}

}  // namespace treadle::tf
