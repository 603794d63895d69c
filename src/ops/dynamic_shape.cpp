#include "ops/dynamic_shape.hpp"

#include "graph/evaluate.hpp"
#include "ops/axis.hpp"
#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {
namespace {

SymShape to_dims(const std::vector<std::int64_t>& v) {
  return SymShape(v.begin(), v.end());
}

// Runs an operator over the first input (and `extra`) now that its parameters are known.
void run_now(EvalContext& ctx, const Operator& op, const Value* extra = nullptr) {
  std::vector<const Value*> inputs{&ctx.input_value(0)};
  if (extra != nullptr) inputs.push_back(extra);
  ctx.set_output(0, evaluate(op, inputs).front());
}

const Fact& shape_input(InputFacts in) {
  const Fact& x = need(in, 0);
  const Fact& shape = need(in, 1);
  need_integer(shape, 1);
  need_rank(shape, 1, 1);
  return x;
}

bool given(EvalContext& ctx, std::size_t i) {
  return i < ctx.inputs() && ctx.input(i) != nullptr;
}

}  // namespace

void DynamicReshape::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
  v.param("allow_zero", allow_zero);
}

std::vector<Fact> DynamicReshape::infer(InputFacts in) const {
  return {Fact::tensor(shape_input(in).dtype, sizes)};
}

void DynamicReshape::eval(EvalContext& ctx) const {
  const auto target = to_dims(read_ints(ctx.in(1)));
  run_now(ctx, Reshape(reshape_target(to_sym(ctx.in(0).shape), target, allow_zero)));
}

void DynamicExpand::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
}

std::vector<Fact> DynamicExpand::infer(InputFacts in) const {
  return {Fact::tensor(shape_input(in).dtype, sizes)};
}

void DynamicExpand::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  SymShape from = to_sym(x.shape);
  SymShape to = to_dims(read_ints(ctx.in(1)));
  check(to.size() <= kMaxRank, ErrorKind::Shape, "rank {} is above the limit", to.size());
  while (from.size() < to.size()) from.insert(from.begin(), 1);
  while (to.size() < from.size()) to.insert(to.begin(), 1);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = broadcast(from[i], to[i]);
  const Value aligned = ctx.input_value(0).tensor().reshaped(concrete(from));
  const Value* inputs[] = {&aligned};
  ctx.set_output(0, evaluate(Expand(to), inputs).front());
}

void DynamicTile::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
}

std::vector<Fact> DynamicTile::infer(InputFacts in) const {
  return {Fact::tensor(shape_input(in).dtype, sizes)};
}

void DynamicTile::eval(EvalContext& ctx) const {
  run_now(ctx, Tile(to_dims(read_ints(ctx.in(1)))));
}

void DynamicPad::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
  v.param("mode", name_of(mode));
}

std::vector<Fact> DynamicPad::infer(InputFacts in) const {
  const Fact& x = shape_input(in);
  if (const Fact* value = maybe(in, 2)) need_dtype(*value, x.dtype, 2);
  if (const Fact* axes = maybe(in, 3)) need_integer(*axes, 3);
  return {Fact::tensor(x.dtype, sizes)};
}

void DynamicPad::eval(EvalContext& ctx) const {
  const int rank = ctx.in(0).shape.rank();
  const auto pads = read_ints(ctx.in(1));
  std::vector<std::int64_t> axes;
  if (given(ctx, 3)) {
    axes = read_ints(ctx.in(3));
  } else {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  check(pads.size() == 2 * axes.size(), ErrorKind::Shape, "{} pads for {} axes", pads.size(),
        axes.size());
  Pad op;
  op.mode = mode;
  op.before.assign(static_cast<std::size_t>(rank), 0);
  op.after = op.before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    need_axis(axis, rank);
    op.before[static_cast<std::size_t>(axis)] = pads[i];
    op.after[static_cast<std::size_t>(axis)] = pads[i + axes.size()];
  }
  run_now(ctx, op, given(ctx, 2) ? &ctx.input_value(2) : nullptr);
}

}  // namespace treadle::ops
