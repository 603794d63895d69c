#include "ops/shape_of.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void ShapeOf::visit(ParamVisitor&) const {}

std::vector<Fact> ShapeOf::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  Fact out = Fact::tensor(DType::I64, {Dim(x.rank())});
  out.dims = std::make_shared<const std::vector<Dim>>(x.shape);
  return {std::move(out)};
}

void ShapeOf::eval(EvalContext& ctx) const {
  const Shape& shape = ctx.in(0).shape;
  write_output(ctx, 0, DType::I64, Shape{shape.rank()}, [&](TensorView& y) {
    auto to = y.span<std::int64_t>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = shape[i];
  });
}

void SizeOf::visit(ParamVisitor&) const {}

std::vector<Fact> SizeOf::infer(InputFacts in) const {
  Fact out = Fact::tensor(DType::I64, {});
  out.dims = std::make_shared<const std::vector<Dim>>(1, elements(need(in, 0).shape));
  return {std::move(out)};
}

void SizeOf::eval(EvalContext& ctx) const {
  write_output(ctx, 0, DType::I64, Shape{},
               [&](TensorView& y) { *y.as<std::int64_t>() = ctx.in(0).elements(); });
}

}  // namespace treadle::ops
