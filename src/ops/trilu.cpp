#include "ops/trilu.hpp"

#include <algorithm>

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void Trilu::visit(ParamVisitor& v) const {
  v.param("upper", upper);
  v.param("k", k);
}

std::vector<Fact> Trilu::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  check(x.rank() >= 2, ErrorKind::Shape, "input {} holds no matrices", x.str());
  if (const Fact* diagonal = maybe(in, 1)) need_integer(*diagonal, 1);
  return {Fact::tensor(x.dtype, x.shape)};
}

void Trilu::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  std::int64_t diagonal = k;
  if (ctx.inputs() > 1 && ctx.input(1) != nullptr) {
    const auto given = read_ints(ctx.in(1));
    check(given.size() == 1, ErrorKind::Shape, "k must be one element, got {}", given.size());
    diagonal = given[0];
  }
  const std::int64_t columns = x.shape.back();
  const std::int64_t rows = x.shape[x.shape.size() - 2];
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  const auto size = static_cast<std::int64_t>(size_of(x.dtype));
  write_output(ctx, 0, x.dtype, x.shape, [&](TensorView& y) {
    copy_run(x.dtype, y.data, 0, x.data, 0, x.elements());
    const std::int64_t all = columns == 0 ? 0 : x.elements() / columns;
    for (std::int64_t r = 0; r < all; ++r) {
      const std::int64_t edge =
          std::clamp<std::int64_t>(r % rows + diagonal + (upper ? 0 : 1), 0, columns);
      const std::int64_t first = upper ? 0 : edge;
      const std::int64_t last = upper ? edge : columns;
      fill_zero(x.dtype, static_cast<char*>(y.data) + (r * columns + first) * size, last - first);
    }
  });
}

}  // namespace treadle::ops
