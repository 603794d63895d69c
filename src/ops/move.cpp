#include "ops/move.hpp"

#include <algorithm>

#include "graph/symbolic.hpp"
#include "ops/axis.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {
namespace {

std::int64_t moved_axis(std::int64_t axis, const Perm& perm) {
  return inverse(perm)[static_cast<std::size_t>(axis)];
}

SymShape permuted(const SymShape& s, const Perm& perm) {
  SymShape out;
  for (const int p : perm) out.push_back(s[static_cast<std::size_t>(p)]);
  return out;
}

}  // namespace

void Concat::visit(ParamVisitor& v) const {
  v.param("axis", axis);
}

std::vector<Fact> Concat::infer(InputFacts in) const {
  const Fact& first = need(in, 0);
  need_axis(axis, first.rank());
  const auto a = static_cast<std::size_t>(axis);
  SymShape shape = first.shape;
  for (std::size_t i = 1; i < in.size(); ++i) {
    const Fact& x = need(in, i);
    need_dtype(x, first.dtype, i);
    need_rank(x, first.rank(), i);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d == a) {
        shape[d] = shape[d] + x.shape[d];
        continue;
      }
      shape[d] = agree(
          shape[d], x.shape[d],
          fmt::format("sizes of axis {} of inputs 0 ({}) and {} ({})", d, first.str(), i, x.str()));
    }
  }
  std::vector<Fact> out{Fact::tensor(first.dtype, std::move(shape))};
  fold_symbolic_moves(*this, in, out);
  return out;
}

void Concat::eval(EvalContext& ctx) const {
  Shape shape = ctx.in(0).shape;
  const auto a = static_cast<std::size_t>(axis);
  for (std::size_t i = 1; i < ctx.inputs(); ++i) {
    const Shape& s = ctx.in(i).shape;
    bool same = s.rank() == shape.rank();
    for (std::size_t d = 0; same && d < shape.size(); ++d) same = d == a || s[d] == shape[d];
    check(same, ErrorKind::Shape, "input {} of shape {} does not fit input 0 of shape {}", i,
          s.str(), ctx.in(0).shape.str());
    shape[a] = checked_add(shape[a], s[a]);
  }
  const DType t = ctx.in(0).dtype;
  const AxisView to = axis_view(shape, axis);
  write_output(ctx, 0, t, shape, [&](TensorView& y) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < ctx.inputs(); ++i) {
      const TensorView& x = ctx.in(i);
      const std::int64_t run = x.shape[a] * to.inner;
      for (std::int64_t o = 0; o < to.outer; ++o) {
        copy_run(t, y.data, o * to.size * to.inner + at, x.data, o * run, run);
      }
      at += run;
    }
  });
}

std::optional<AxisChange> Concat::change_axes(InputFacts in, std::span<const Fact>,
                                              const Perm& perm) const {
  return AxisChange{make_op<Concat>(moved_axis(axis, perm)),
                    std::vector<std::optional<Perm>>(in.size(), perm)};
}

void Slice::visit(ParamVisitor& v) const {
  v.param("axis", axis);
  v.param("start", start);
  v.param("length", length);
  v.param("step", step);
}

std::vector<Fact> Slice::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  need_axis(axis, x.rank());
  check(step != 0, ErrorKind::Shape, "the step is 0");
  SymShape shape = x.shape;
  shape[static_cast<std::size_t>(axis)] = length;
  std::vector<Fact> out{Fact::tensor(x.dtype, std::move(shape))};
  if (start.is_const() && length.is_const()) fold_symbolic_moves(*this, in, out);
  return out;
}

void Slice::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t size = x.shape[a];
  const std::int64_t first = ctx.value_of(start);
  const std::int64_t count = ctx.value_of(length);
  bool fits = count == 0 || (count > 0 && first >= 0 && first < size);
  if (fits && count > 1) {
    const std::int64_t room = step > 0 ? size - 1 - first : first;
    fits = step != 0 && count - 1 <= room / (step > 0 ? step : -std::max(step, -size - 1));
  }
  check(fits, ErrorKind::Shape, "{} elements from {} by {} leave axis {} of input {}", count, first,
        step, axis, x.shape.str());
  Shape shape = x.shape;
  shape[a] = count;
  Strided from{0, row_major({x.shape.data(), x.shape.size()})};
  if (count > 0) from.offset = first * from.strides[a];
  from.strides[a] *= count > 1 ? step : 1;
  const std::span<const std::int64_t> dims(shape.data(), shape.size());
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    copy_strided(x.dtype, dims, y.data, {0, row_major(dims)}, x.data, from);
  });
}

std::optional<AxisChange> Slice::change_axes(InputFacts, std::span<const Fact>,
                                             const Perm& perm) const {
  return AxisChange{make_op<Slice>(moved_axis(axis, perm), start, length, step), {perm}};
}

void Gather::visit(ParamVisitor& v) const {
  v.param("axis", axis);
}

std::vector<Fact> Gather::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& indices = need(in, 1);
  need_axis(axis, x.rank());
  need_integer(indices, 1);
  SymShape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  check(shape.size() <= kMaxRank, ErrorKind::Shape, "rank {} is above the limit of {}",
        shape.size(), kMaxRank);
  std::vector<Fact> out{Fact::tensor(x.dtype, std::move(shape))};
  fold_symbolic_moves(*this, in, out);
  return out;
}

void Gather::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& indices = ctx.in(1);
  const AxisView v = axis_view(x.shape, axis);
  std::vector<std::int64_t> at = read_ints(indices);
  for (std::int64_t& i : at) i = wrap_index(i, v.size, axis);
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.push_back(x.shape[static_cast<std::size_t>(d)]);
  for (const std::int64_t d : indices.shape) shape.push_back(d);
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < x.shape.size(); ++d) {
    shape.push_back(x.shape[d]);
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    std::int64_t to = 0;
    for (std::int64_t o = 0; o < v.outer; ++o) {
      for (const std::int64_t i : at) {
        copy_run(x.dtype, y.data, to, x.data, (o * v.size + i) * v.inner, v.inner);
        to += v.inner;
      }
    }
  });
}

void Tile::visit(ParamVisitor& v) const {
  v.param("repeats", repeats);
}

std::vector<Fact> Tile::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  check(repeats.size() == x.shape.size(), ErrorKind::Shape, "{} repeats for input {} of rank {}",
        repeats.size(), x.str(), x.rank());
  SymShape shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    check(!repeats[i].is_const() || repeats[i].value() >= 0, ErrorKind::Shape,
          "repeats {} of axis {} are negative", repeats[i].str(), i);
    shape.push_back(x.shape[i] * repeats[i]);
  }
  std::vector<Fact> out{Fact::tensor(x.dtype, std::move(shape))};
  if (is_const(repeats)) fold_symbolic_moves(*this, in, out);
  return out;
}

void Tile::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const Shape times = shape_of(ctx, repeats);
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  Shape shape = x.shape;
  std::vector<std::int64_t> dims;
  Strided from;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = checked_mul(shape[i], times[i]);
    dims.insert(dims.end(), {times[i], x.shape[i]});
    from.strides.insert(from.strides.end(), {0, strides[i]});
  }
  write_output(ctx, 0, x.dtype, shape, [&](TensorView& y) {
    copy_strided(x.dtype, dims, y.data, {0, row_major(dims)}, x.data, from);
  });
}

std::optional<AxisChange> Tile::change_axes(InputFacts, std::span<const Fact>,
                                            const Perm& perm) const {
  return AxisChange{make_op<Tile>(permuted(repeats, perm)), {perm}};
}

}  // namespace treadle::ops
