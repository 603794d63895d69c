#include "ops/symbolic_constant.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"
#include "ops/elements.hpp"

namespace treadle::ops {

void SymbolicConstant::visit(ParamVisitor& v) const {
  v.param("values", values);
  v.param("dtype", dtype);
  v.param("shape", shape);
}

std::vector<Fact> SymbolicConstant::infer(InputFacts) const {
  check(is_integer(dtype), ErrorKind::Type, "{} is no integer dtype", name_of(dtype));
  check(concrete(shape).elements() == static_cast<std::int64_t>(values.size()), ErrorKind::Shape,
        "{} values for shape {}", values.size(), str(shape));
  Fact out = Fact::tensor(dtype, shape);
  if (static_cast<std::int64_t>(values.size()) <= kMaxSymbolicElements) {
    out.dims = std::make_shared<const std::vector<Dim>>(values);
  }
  return {std::move(out)};
}

void SymbolicConstant::eval(EvalContext& ctx) const {
  write_output(ctx, 0, dtype, concrete(shape), [&](TensorView& y) {
    dispatch(dtype, [&]<typename T>(T) {
      auto to = y.span<T>();
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = convert<T>(ctx.value_of(values[i]));
    });
  });
}

}  // namespace treadle::ops
