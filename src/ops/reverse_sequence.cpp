#include "ops/reverse_sequence.hpp"

#include "ops/checks.hpp"
#include "ops/copy.hpp"

namespace treadle::ops {

void ReverseSequence::visit(ParamVisitor& v) const {
  v.param("time_axis", time_axis);
  v.param("batch_axis", batch_axis);
}

std::vector<Fact> ReverseSequence::infer(InputFacts in) const {
  const Fact& x = need(in, 0);
  const Fact& lengths = need(in, 1);
  need_axis(time_axis, x.rank());
  need_axis(batch_axis, x.rank());
  check(time_axis != batch_axis, ErrorKind::Shape, "axis {} is both time and batch", time_axis);
  need_integer(lengths, 1);
  need_rank(lengths, 1, 1);
  agree(lengths.shape[0], x.shape[static_cast<std::size_t>(batch_axis)],
        "the number of lengths and the batch");
  return {Fact::tensor(x.dtype, x.shape)};
}

void ReverseSequence::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const auto lengths = read_ints(ctx.in(1));
  const auto t = static_cast<std::size_t>(time_axis);
  const auto b = static_cast<std::size_t>(batch_axis);
  check(static_cast<std::int64_t>(lengths.size()) == x.shape[b], ErrorKind::Shape,
        "{} lengths for a batch of {}", lengths.size(), x.shape[b]);
  for (const std::int64_t n : lengths) {
    check(n >= 0 && n <= x.shape[t], ErrorKind::Shape, "length {} is outside [0, {}]", n,
          x.shape[t]);
  }
  const auto strides = row_major({x.shape.data(), x.shape.size()});
  write_output(ctx, 0, x.dtype, x.shape, [&](TensorView& y) {
    std::int64_t to = 0;
    for_each_index(x.shape, [&](const std::vector<std::int64_t>& at) {
      const std::int64_t n = lengths[static_cast<std::size_t>(at[b])];
      const std::int64_t from = at[t] < n ? to + (n - 1 - 2 * at[t]) * strides[t] : to;
      copy_run(x.dtype, y.data, to++, x.data, from, 1);
    });
  });
}

}  // namespace treadle::ops
