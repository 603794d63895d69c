#include "ops/axis.hpp"

#include <algorithm>

#include "graph/symbolic.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {
namespace {

bool holds(const std::vector<std::int64_t>& axes, std::int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::vector<Fact> moved(const Operator& op, InputFacts in, DType dtype, SymShape shape) {
  check(shape.size() <= kMaxRank, ErrorKind::Shape, "rank {} is above the limit of {}",
        shape.size(), kMaxRank);
  std::vector<Fact> out{Fact::tensor(dtype, std::move(shape))};
  fold_symbolic_moves(op, in, out);
  return out;
}

// The elements in the same order under `shape`.
void copy_all(EvalContext& ctx, const Shape& shape) {
  const TensorView& x = ctx.in(0);
  check(x.elements() == shape.elements(), ErrorKind::Shape,
        "input of shape {} has {} elements, target {} has {}", x.shape.str(), x.elements(),
        shape.str(), shape.elements());
  write_output(ctx, 0, x.dtype, shape,
               [&](TensorView& y) { copy_run(x.dtype, y.data, 0, x.data, 0, x.elements()); });
}

}  // namespace

void Transpose::visit(ParamVisitor& v) const {
  v.param("perm", std::vector<std::int64_t>(perm.begin(), perm.end()));
}

std::vector<Fact> Transpose::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  check(static_cast<int>(perm.size()) == x.rank(), ErrorKind::Shape,
        "permutation has {} axes, input is {}", perm.size(), x.str());
  std::vector<bool> seen(perm.size(), false);
  SymShape shape;
  for (const int p : perm) {
    need_axis(p, x.rank());
    check(!seen[static_cast<std::size_t>(p)], ErrorKind::Shape, "axis {} stands twice", p);
    seen[static_cast<std::size_t>(p)] = true;
    shape.push_back(x.shape[static_cast<std::size_t>(p)]);
  }
  return moved(*this, in, x.dtype, std::move(shape));
}

void Transpose::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  Shape shape;
  Strided from;
  for (const int p : perm) {
    shape.push_back(x.shape[static_cast<std::size_t>(p)]);
    from.strides.push_back(strides[static_cast<std::size_t>(p)]);
  }
  const std::span<const std::int64_t> dims(shape.data(), shape.size());
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    copy_strided(x.dtype, dims, y.data, {0, row_major(dims)}, x.data, from);
  });
}

void Reshape::visit(ParamVisitor& v) const {
  v.param("shape", shape);
}

std::vector<Fact> Reshape::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Dim have = elements(x.shape);
  const Dim want = elements(shape);
  bool fits = have == want;
  if (!fits && have.is_const() != want.is_const()) fits = true;
  if (!fits && !have.is_const()) {
    const auto ratio = exact_div(have, want);
    fits = !ratio || !ratio->is_const();
  }
  check(fits, ErrorKind::Shape, "target {} does not hold the elements of input {}", str(shape),
        x.str());
  return moved(*this, in, x.dtype, shape);
}

void Reshape::eval(EvalContext& ctx) const {
  copy_all(ctx, shape_of(ctx, shape));
}

void Unsqueeze::visit(ParamVisitor& v) const {
  v.param("axes", axes);
}

std::vector<Fact> Unsqueeze::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const int rank = x.rank() + static_cast<int>(axes.size());
  need_axes(axes, rank);
  SymShape shape;
  for (int i = 0, k = 0; i < rank; ++i) {
    shape.push_back(holds(axes, i) ? Dim(1) : x.shape[static_cast<std::size_t>(k++)]);
  }
  return moved(*this, in, x.dtype, std::move(shape));
}

void Unsqueeze::eval(EvalContext& ctx) const {
  Shape shape = ctx.in(0).shape;
  for (const std::int64_t a : axes) shape.insert(static_cast<int>(a), 1);
  copy_all(ctx, shape);
}

std::optional<AxisChange> Unsqueeze::change_axes(InputFacts, std::span<const Fact>,
                                                 const Perm& perm) const {
  std::vector<std::int64_t> at;
  Perm inner;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (holds(axes, perm[i])) {
      at.push_back(static_cast<std::int64_t>(i));
      continue;
    }
    const auto before =
        std::count_if(axes.begin(), axes.end(), [&](std::int64_t a) { return a < perm[i]; });
    inner.push_back(perm[i] - static_cast<int>(before));
  }
  return AxisChange{make_op<Unsqueeze>(std::move(at)), {std::move(inner)}};
}

void Squeeze::visit(ParamVisitor& v) const {
  v.param("axes", axes);
}

std::vector<Fact> Squeeze::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  need_axes(axes, x.rank());
  SymShape shape;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim& d = x.shape[static_cast<std::size_t>(i)];
    if (!holds(axes, i)) {
      shape.push_back(d);
      continue;
    }
    check(!d.is_const() || d.is(1), ErrorKind::Shape, "axis {} must have size 1, input is {}", i,
          x.str());
  }
  return moved(*this, in, x.dtype, std::move(shape));
}

void Squeeze::eval(EvalContext& ctx) const {
  Shape shape;
  const TensorView& x = ctx.in(0);
  for (int i = 0; i < x.shape.rank(); ++i) {
    const std::int64_t d = x.shape[static_cast<std::size_t>(i)];
    if (!holds(axes, i)) shape.push_back(d);
  }
  copy_all(ctx, shape);
}

std::optional<AxisChange> Squeeze::change_axes(InputFacts in, std::span<const Fact>,
                                               const Perm& perm) const {
  const int rank = in[0]->rank();
  std::vector<int> kept;
  for (int i = 0; i < rank; ++i) {
    if (!holds(axes, i)) kept.push_back(i);
  }
  if (kept.size() != perm.size()) return std::nullopt;
  Perm outer(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) outer[static_cast<std::size_t>(i)] = i;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    outer[static_cast<std::size_t>(kept[i])] = kept[static_cast<std::size_t>(perm[i])];
  }
  return AxisChange{make_op<Squeeze>(axes), {std::move(outer)}};
}

void Expand::visit(ParamVisitor& v) const {
  v.param("shape", shape);
}

std::vector<Fact> Expand::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  need_rank(x, static_cast<int>(shape.size()), 0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim& d = x.shape[i];
    check(!d.is_const() || !shape[i].is_const() || d.is(1) || d == shape[i], ErrorKind::Shape,
          "axis {} of input {} does not expand to {}", i, x.str(), str(shape));
  }
  return moved(*this, in, x.dtype, shape);
}

void Expand::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const Shape to = shape_of(ctx, shape);
  check(x.shape.rank() == to.rank(), ErrorKind::Shape, "{} does not expand to {}", x.shape.str(),
        to.str());
  Strided from{0, row_major({x.shape.data(), x.shape.size()})};
  for (std::size_t i = 0; i < to.size(); ++i) {
    check(x.shape[i] == to[i] || x.shape[i] == 1, ErrorKind::Shape,
          "axis {} of {} does not expand to {}", i, x.shape.str(), to.str());
    if (x.shape[i] == 1) from.strides[i] = 0;
  }
  const std::span<const std::int64_t> dims(to.data(), to.size());
  write_output(ctx, 0, x.dtype, to, [&](TensorView& y) {
    copy_strided(x.dtype, dims, y.data, {0, row_major(dims)}, x.data, from);
  });
}

std::optional<AxisChange> Expand::change_axes(InputFacts, std::span<const Fact>,
                                              const Perm& perm) const {
  SymShape to;
  for (const int p : perm) to.push_back(shape[static_cast<std::size_t>(p)]);
  return AxisChange{make_op<Expand>(std::move(to)), {perm}};
}

}  // namespace treadle::ops
