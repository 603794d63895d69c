#include "ops/max_unpool.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void MaxUnpool::visit(ParamVisitor& v) const {
  v.param("sizes", sizes);
  v.param("counted", counted);
}

std::vector<Fact> MaxUnpool::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& indices = need(in, 1);
  need_integer(indices, 1);
  need_rank(indices, x.rank(), 1);
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    agree(x.shape[d], indices.shape[d], "sizes of input and indices");
  }
  check(sizes.size() == x.shape.size() && counted.size() == x.shape.size(), ErrorKind::Shape,
        "output {} for input {}", str(sizes), x.str());
  if (const Fact* shape = maybe(in, 2)) {
    need_integer(*shape, 2);
    need_rank(*shape, 1, 2);
  }
  return {Fact::tensor(x.dtype, sizes)};
}

namespace {

bool computed(EvalContext& ctx) {
  return ctx.inputs() > 2 && ctx.input(2) != nullptr;
}

Shape output_shape(EvalContext& ctx, const SymShape& sizes) {
  if (!computed(ctx)) return shape_of(ctx, sizes);
  const auto given = read_ints(ctx.in(2));
  check(given.size() == sizes.size(), ErrorKind::Shape, "{} output sizes for rank {}", given.size(),
        sizes.size());
  for (const std::int64_t d : given) check(d >= 0, ErrorKind::Shape, "an output size is {}", d);
  return Shape(std::span<const std::int64_t>(given));
}

}  // namespace

void MaxUnpool::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const auto indices = read_ints(ctx.in(1));
  const Shape to = output_shape(ctx, sizes);
  const Shape from = shape_of(ctx, counted);
  check(static_cast<std::int64_t>(indices.size()) == x.elements(), ErrorKind::Shape,
        "{} indices for input {}", indices.size(), x.shape.str());
  for (std::size_t d = 0; d < to.size(); ++d) {
    check(from[d] <= to[d], ErrorKind::Shape, "output {} is smaller than {}", to.str(), from.str());
  }
  const std::int64_t total = from.elements();
  const auto count_strides = row_major({from.data(), from.size()});
  const auto strides = row_major({to.data(), to.size()});
  const auto fill = [&](TensorView& y) {
    fill_zero(x.dtype, y.data, y.elements());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t at = indices[i];
      check(at >= 0 && at < total, ErrorKind::Shape, "index {} is outside [0, {})", at, total);
      std::int64_t place = 0;
      for (std::size_t d = 0; d < to.size(); ++d) {
        place += (at / count_strides[d]) % from[d] * strides[d];
      }
      copy_run(x.dtype, y.data, place, x.data, static_cast<std::int64_t>(i), 1);
    }
  };
  if (computed(ctx)) {
    allocate_output(ctx, 0, x.dtype, to, fill);
  } else {
    write_output(ctx, 0, x.dtype, to, fill);
  }
}

}  // namespace treadle::ops
