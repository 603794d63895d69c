#include "ops/build.hpp"

#include <algorithm>

#include "ops/axis.hpp"
#include "ops/cast.hpp"
#include "ops/contract.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {
namespace {

// x with leading axes of size 1 up to `rank`.
ValueId raise_rank(Graph& g, const std::string& name, ValueId x, int rank) {
  const Fact& fact = g.fact(x);
  const int missing = rank - fact.rank();
  if (missing == 0) return x;
  if (fact.value) {
    Shape shape = fact.value->shape();
    for (int i = 0; i < missing; ++i) shape.insert(0, 1);
    return g.add_constant(name, fact.value->reshaped(shape));
  }
  std::vector<std::int64_t> axes(static_cast<std::size_t>(missing));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  return g.add1(name, make_op<Unsqueeze>(std::move(axes)), {x});
}

}  // namespace

std::vector<ValueId> equal_ranks(Graph& g, const std::string& name, std::vector<ValueId> values) {
  int rank = 0;
  for (const ValueId v : values) rank = std::max(rank, g.fact(v).rank());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = raise_rank(g, name + "/rank" + std::to_string(i), values[i], rank);
  }
  return values;
}

ValueId binary(Graph& g, const std::string& name, BinaryFn fn, ValueId a, ValueId b) {
  return g.add1(name, make_op<Binary>(fn), equal_ranks(g, name, {a, b}));
}

ValueId unary(Graph& g, const std::string& name, UnaryFn fn, ValueId x, double a, double b) {
  return g.add1(name, make_op<Unary>(fn, a, b), {x});
}

ValueId select(Graph& g, const std::string& name, ValueId condition, ValueId a, ValueId b) {
  return g.add1(name, make_op<Select>(), equal_ranks(g, name, {condition, a, b}));
}

ValueId cast(Graph& g, const std::string& name, ValueId x, DType to) {
  return g.fact(x).dtype == to ? x : g.add1(name, make_op<Cast>(to), {x});
}

ValueId transpose(Graph& g, const std::string& name, ValueId x, const Perm& perm) {
  return is_identity(perm) ? x : g.add1(name, make_op<Transpose>(perm), {x});
}

ValueId reshape(Graph& g, const std::string& name, ValueId x, SymShape shape) {
  if (g.fact(x).shape == shape) return x;
  return g.add1(name, make_op<Reshape>(std::move(shape)), {x});
}

ValueId unsqueeze(Graph& g, const std::string& name, ValueId x, std::vector<std::int64_t> axes) {
  return axes.empty() ? x : g.add1(name, make_op<Unsqueeze>(std::move(axes)), {x});
}

ValueId squeeze(Graph& g, const std::string& name, ValueId x, std::vector<std::int64_t> axes) {
  return axes.empty() ? x : g.add1(name, make_op<Squeeze>(std::move(axes)), {x});
}

ValueId reduce(Graph& g, const std::string& name, ReduceFn fn, ValueId x,
               std::vector<std::int64_t> axes, bool keep_dims) {
  if (keep_dims) return g.add1(name, make_op<Reduce>(fn, std::move(axes)), {x});
  const ValueId kept = g.add1(name + "/reduce", make_op<Reduce>(fn, axes), {x});
  return squeeze(g, name, kept, std::move(axes));
}

ValueId matmul(Graph& g, const std::string& name, ValueId a, ValueId b) {
  const int ra = g.fact(a).rank(), rb = g.fact(b).rank();
  check(ra > 0 && rb > 0, ErrorKind::Shape,
        "matmul of shapes {} and {}: expected at least one axis each", str(g.fact(a).shape),
        str(g.fact(b).shape));
  const Dim& ka = g.fact(a).shape.back();
  const Dim& kb = g.fact(b).shape[static_cast<std::size_t>(std::max(rb - 2, 0))];
  check(!ka.is_const() || !kb.is_const() || ka == kb, ErrorKind::Shape,
        "matmul of shapes {} and {}: {} columns, but {} rows", str(g.fact(a).shape),
        str(g.fact(b).shape), ka.str(), kb.str());
  constexpr std::string_view kBatch = "bcdefghijlopqrstuvw";
  const auto batch_a = static_cast<std::size_t>(std::max(ra - 2, 0));
  const auto batch_b = static_cast<std::size_t>(std::max(rb - 2, 0));
  const std::size_t batch = std::max(batch_a, batch_b);
  check(batch <= kBatch.size(), ErrorKind::Shape, "matmul of rank {} and {}: expected at most {}",
        ra, rb, kMaxRank);
  const std::string all(kBatch.substr(0, batch));
  const std::string left = all.substr(batch - batch_a) + (ra > 1 ? "mk" : "k");
  const std::string right = all.substr(batch - batch_b) + (rb > 1 ? "kn" : "k");
  const std::string out = all + (ra > 1 ? "m" : "") + (rb > 1 ? "n" : "");
  return g.add1(name, make_op<Contract>(std::vector<std::string>{left, right}, out), {a, b});
}

ValueId scalar_like(Graph& g, const std::string& name, double value, ValueId x) {
  const Fact& fact = g.fact(x);
  Shape shape;
  for (int i = 0; i < fact.rank(); ++i) shape.push_back(1);
  Tensor t(fact.dtype, shape);
  dispatch(fact.dtype, [&]<typename T>(T) { *t.mutable_span<T>().data() = convert<T>(value); });
  return g.add_constant(name, std::move(t));
}

std::int64_t normal_axis(std::int64_t axis, int rank) {
  check(axis >= -rank && axis < rank, ErrorKind::Shape, "axis {} is out of range for rank {}", axis,
        rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::int64_t> normal_axes(std::vector<std::int64_t> axes, int rank) {
  for (auto& a : axes) a = normal_axis(a, rank);
  std::ranges::sort(axes);
  const auto twice = std::ranges::adjacent_find(axes);
  check(twice == axes.end(), ErrorKind::Shape, "axis {} is given twice",
        twice == axes.end() ? 0 : *twice);
  return axes;
}

}  // namespace treadle::ops
