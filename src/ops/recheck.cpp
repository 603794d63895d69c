#include "ops/recheck.hpp"

#include <vector>

#include "base/error.hpp"

namespace treadle::ops {

void recheck(const Operator& op, EvalContext& ctx) {
  std::vector<Fact> facts(ctx.inputs());
  std::vector<const Fact*> in(ctx.inputs(), nullptr);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const TensorView* view = ctx.input(i);
    if (view == nullptr) continue;
    facts[i] = Fact::tensor(view->dtype, to_sym(view->shape));
    in[i] = &facts[i];
  }
  const std::vector<Fact> out = op.infer(in);
  for (std::size_t i = 0; i < out.size() && i < ctx.outputs(); ++i) {
    if (!is_const(out[i].shape)) continue;
    const Shape expected = concrete(out[i].shape);
    const Shape& got = ctx.output(i).shape;
    check(got == expected, ErrorKind::Shape, "output {} of {} has shape {}, its inputs give {}", i,
          op.name(), got.str(), expected.str());
  }
}

}  // namespace treadle::ops
