#include "ops/bit_cast.hpp"

#include <cstring>

#include "ops/checks.hpp"

namespace treadle::ops {

void BitCast::visit(ParamVisitor& v) const {
  v.param("to", to);
}

std::vector<Fact> BitCast::infer(InputFacts in) const {
  need_inputs(in, 1);
  const Fact& x = need(in, 0);
  const bool text = x.dtype == DType::String || to == DType::String;
  check(!text && size_of(x.dtype) == size_of(to), ErrorKind::Type,
        "input 0 'x' has dtype {}, which has not the width of {}", name_of(x.dtype), name_of(to));
  return {Fact::tensor(to, x.shape)};
}

void BitCast::eval(EvalContext& ctx) const {
  const TensorView& x = ctx.in(0);
  const TensorView& y = ctx.output(0);
  if (to == DType::Bool) {
    const auto* in = x.as<std::uint8_t>();
    const std::int64_t n = x.elements();
    for (std::int64_t i = 0; i < n; ++i) y.as<bool>()[i] = in[i] != 0;
  } else if (x.bytes() != 0) {
    std::memcpy(y.data, x.data, x.bytes());
  }
}

std::optional<AxisChange> BitCast::change_axes(InputFacts, std::span<const Fact>,
                                               const Perm& perm) const {
  return AxisChange{make_op<BitCast>(to), {perm}};
}

}  // namespace treadle::ops
